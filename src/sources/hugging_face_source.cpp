#include "sources/hugging_face_source.h"

#include "base/error.h"
#include "base/file.h"
#include "formats/tensors/pickled_tensors.h"
#include "sources/directory_files.h"

#include <map>

namespace attend {

namespace fs = std::filesystem;

Json HuggingFaceSource::config() const {
  const fs::path& directory = this->path();
  constexpr const char* needs =
      "a model is a directory with config.json, model.safetensors and the tokenizer's files, or a GGUF file";
  if (!file_exists(directory))
    fail("{}: no such directory; models are not downloaded, so give the directory of a model ({})",
         directory.string(), needs);
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) fail("{}: not a directory; {}", directory.string(), needs);
  const fs::path file = directory / "config.json";
  if (!file_exists(file)) fail("{}: the directory has no config.json; {}", directory.string(), needs);
  return read_json(file);
}

bool HuggingFaceSource::has_weights() const {
  return holds_checkpoint(path());
}

WeightFiles HuggingFaceSource::weight_files() const {
  const fs::path& directory = path();
  WeightFiles checkpoint;
  fs::path index;
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    if (file_exists(directory / name)) {
      checkpoint.add(open_tensor_file(directory / name));
      return checkpoint;
    }
    index = directory / (name + std::string(".index.json"));
    if (file_exists(index)) break;
  }
  if (!file_exists(index))
    fail("{}: the directory has no model.safetensors, no pytorch_model.bin and no index of either",
         directory.string());

  const Fields fields = read_fields(index);
  const std::string source = fields.source() + ": weight_map";
  const Fields map(fields.json().value("weight_map", Json()), source);
  std::map<std::string, std::size_t> shards;
  for (const auto& [tensor, file] : map.json().items()) {
    if (!file.is_string())
      fail("{}: {}: expected the name of a file, found {}", source, shown(tensor), shown(file));
    const auto [place, is_new] = shards.emplace(file.get<std::string>(), checkpoint.files().size());
    if (is_new)
      checkpoint.add(open_tensor_file(inside(directory, place->first, source + ": " + shown(tensor))));
    if (!checkpoint.files()[place->second].tensors().contains(tensor))
      fail("{}: tensor {} is not in {}", source, shown(tensor), place->first);
  }
  return checkpoint;
}

Json HuggingFaceSource::tokenizer_config() const {
  const fs::path file = path() / "tokenizer_config.json";
  return file_exists(file) ? read_json(file) : Json(Json::object());
}

std::string HuggingFaceSource::missing_tokenizer() const {
  return "found no tokenizer.json, SentencePiece model, vocab.txt, or vocab.json with merges.txt";
}

}  // namespace attend
