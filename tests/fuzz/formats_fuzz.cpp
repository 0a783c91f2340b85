// Hostile model directories, GGUF files and CTranslate2 directories: for any bytes in one of their files, the
// directory is inspected or an Error is thrown.
#include <attend/tokenizer.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "sources/ctranslate2/ctranslate2.h"
#include "sources/inspection.h"

#include <algorithm>

namespace attend::fuzz {
namespace {

namespace fs = std::filesystem;

// The first byte of an input selects the file.
enum Kind : unsigned { safetensors, pickle, config, gguf, ctranslate2, kinds };
constexpr const char* names[] = {"model.safetensors", "pytorch_model.bin", "config.json", "model.gguf",
                                 "model.bin"};

// As many words as the table has rows, so that more than the vocabulary is checked.
void write_vocabularies(std::string_view bytes) {
  const CTranslate2 file(std::as_bytes(std::span(bytes)), "model.bin");
  std::int64_t rows = 0;
  for (const char* table : {"encoder/embeddings_0/weight", "decoder/embeddings/weight"})
    if (const CTranslate2Variable* found = file.find(table); found != nullptr && !found->shape.empty())
      rows = found->shape[0];
  Json words = Json::array();
  for (std::int64_t i = 0; i < std::min<std::int64_t>(rows, 1000); ++i) words.push_back(std::to_string(i));
  for (const char* name : {"shared_vocabulary.json", "vocabulary.json"})
    write_file_atomically(folder() / name, words.dump());
}

}  // namespace

std::vector<std::string> seeds() {
  const fs::path data = ATTEND_TEST_DATA;
  std::vector<std::string> result;
  for (const char* name : {"archive.bin", "legacy.bin", "plain.bin", "program.bin"})
    result.push_back(input_of_file(pickle, data / "pickles" / name));
  result.push_back(input_of_file(safetensors, data / "pickles/tensors.safetensors"));
  for (const char* name : {"blocks.gguf", "gpt2.gguf", "gptj.gguf", "bert.gguf", "t5.gguf"})
    result.push_back(input_of_file(gguf, data / "gguf" / name));
  for (const char* family : {"marian", "m2m-100", "bart", "t5-gated", "gpt2", "bert"})
    result.push_back(input_of_file(ctranslate2, data / "ctranslate2" / family / "model.bin"));
  for (const auto& entry : fs::directory_iterator(data / "models")) {
    result.push_back(input_of_file(config, entry.path() / "config.json"));
    // Of larger files, the header and some numbers: the rest adds nothing new.
    const std::string weights = read_file(entry.path() / "model.safetensors");
    result.push_back(input(safetensors, std::string_view(weights).substr(0, 1 << 14)));
  }
  return result;
}

}  // namespace attend::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend::fuzz;
  if (size == 0) return 0;
  const unsigned kind = data[0] % kinds;
  for (const char* name : names) std::filesystem::remove(folder() / name);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    attend::write_file_atomically(folder() / names[config], R"({"model_type":"bert","hidden_size":8})");
    if (kind == config)
      attend::write_file_atomically(folder() / names[safetensors], std::string("\2\0\0\0\0\0\0\0{}", 10));
    attend::write_file_atomically(folder() / names[kind], bytes);
    if (kind == ctranslate2) write_vocabularies(bytes);
    const attend::ModelDirectory directory(kind == gguf ? folder() / names[gguf] : folder());
    attend::inspect_model(directory, directory.weight_files(), true);
  } catch (const attend::Error&) {
  }
  try {
    if (kind == gguf) attend::Tokenizer::from_file(folder() / names[gguf]).encode("A text, then \u00e9.");
  } catch (const attend::Error&) {
  }
  return 0;
}
