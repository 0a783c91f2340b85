// attend convert MODEL OUT: a model directory as transformers writes it.
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/verb.h"
#include "models/adapter.h"
#include "models/model.h"
#include "tokenizers/tokenizer_files.h"

#include <filesystem>

namespace attend::cli {
namespace {

namespace fs = std::filesystem;

// What else belongs to a model: how pictures are prepared, and sentence-transformers' modules.
void copy_companions(const fs::path& from, const fs::path& to) {
  std::vector<fs::path> names = {"preprocessor_config.json", "modules.json", "sentence_bert_config.json",
                                 "config_sentence_transformers.json"};
  for (const auto& entry : fs::directory_iterator(from))
    if (entry.is_directory() && file_exists(from / "modules.json"))
      names.push_back(entry.path().filename() / "config.json");
  for (const fs::path& name : names) {
    if (!file_exists(from / name)) continue;
    fs::create_directories((to / name).parent_path());
    write_file_atomically(to / name, read_file(from / name));
  }
}

}  // namespace

int convert(int argc, char** argv) {
  std::string model, output, adapter;
  Parser parser(
      "convert",
      "Writes a model anew: whatever its weights lie in (shards, pytorch_model.bin, float16, names of "
      "long ago), they become one model.safetensors of float32 as transformers writes it.",
      "attend convert gpt2 gpt2-tuned --adapter gpt2-lora");
  parser.app().add_option("model", model, "The model directory")->required();
  parser.app().add_option("output", output, "The directory to make")->required();
  parser.app().add_option("--adapter", adapter,
                          "A directory with a LoRA adapter, to be merged into the weights");
  if (const auto status = parser.parse(argc, argv)) return *status;

  if (file_exists(fs::path(output) / "model.safetensors")) fail("{}: there already is a model in it", output);
  const auto merged = adapter.empty() ? std::nullopt : std::optional<Adapter>(std::in_place, adapter);
  const Model loaded = Model::load(ModelDirectory(model), Purpose::training, {}, merged ? &*merged : nullptr);
  loaded.save(output);
  tokenizers::copy_tokenizer(model, output);
  copy_companions(model, output);
  inform("wrote {}", output);
  return 0;
}

}  // namespace attend::cli
