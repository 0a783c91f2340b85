#include "models/derived/companions.h"

#include <attend/tokenizer.h>

#include "base/directory.h"
#include "base/file.h"
#include "sources/directory_files.h"
#include "sources/model_directory.h"
#include "tokenizers/files/tokenizer_files.h"

#include <string>
#include <vector>

namespace attend {
namespace {

namespace fs = std::filesystem;

// The regular files of a folder; none if it does not exist.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.is_regular_file()) names.push_back(entry.path().filename());
  return names;
}

// sentence_bert_config.json, sentence_xlnet_config.json and so on, for any family.
bool is_sentence_config(const std::string& name) {
  return name.starts_with("sentence_") && name.ends_with("_config.json");
}

// Writes the contents of a model's single file as files.
void write_companions(const ModelSource& from, const fs::path& to) {
  if (from.stored_tokenizer()) {
    Tokenizer::from_file(from.path()).save(to / tokenizers::file_names::tokenizer_json);
    write_file_atomically(to / tokenizers::file_names::tokenizer_config_json,
                          from.tokenizer_config().dump(2) + "\n");
  }
  const ModelDirectory model(from.path());
  if (const auto pooling = model.sentence_pooling())
    write_sentence_modules(to, *pooling, model.config().integer({"hidden_size", "d_model", "n_embd"}));
}

}  // namespace

void copy_companions(const fs::path& from, const fs::path& to) {
  std::error_code missing;
  if (fs::equivalent(from, to, missing)) return;
  make_directories(to);
  if (const auto source = open_source(from); source->is_one_file()) return write_companions(*source, to);
  tokenizers::copy_tokenizer(from, to);
  for (const char* name : {"preprocessor_config.json", "processor_config.json", "chat_template.jinja",
                           "chat_template.json", "modules.json", "config_sentence_transformers.json"})
    if (file_exists(from / name)) copy_file_atomically(from / name, to / name);
  for (const fs::path& name : files_in(from))
    if (is_sentence_config(name.string())) copy_file_atomically(from / name, to / name);
  std::vector<std::string> folders = sentence_module_folders(from);
  folders.push_back("additional_chat_templates");
  for (const std::string& folder : folders)
    for (const fs::path& name : files_in(from / folder))
      copy_file_atomically(from / folder / name, to / folder / name);
}

}  // namespace attend
