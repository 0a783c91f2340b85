// Hostile tokenizers and hostile text: for any bytes, the result is a tokenizer or an Error.
#include <attend/tokenizer.h>

#include "base/error.h"
#include "formats/json/json.h"
#include "fuzz/fuzz.h"

namespace attend::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path data_folder = ATTEND_TEST_DATA;

// The first byte of an input, modulo `kinds`, selects the kind; the quotient is a number: for text, that of
// the tokenizer.
enum Kind : unsigned { tokenizer_json, sentencepiece, text, kinds };

void round_trip(const Tokenizer& tokenizer, const std::string& text) {
  const Encoding encoding = tokenizer.encode_pair(text, text);
  tokenizer.decode(encoding.ids);
  tokenizer.decode(tokenizer.encode(text, {.with_details = false}).ids, true);
}

void try_file(const char* name, std::string_view bytes) {
  write_file_atomically(folder() / "tokenizer_config.json", R"({"tokenizer_class":"T5Tokenizer"})");
  write_file_atomically(folder() / name, bytes);
  const Tokenizer tokenizer = Tokenizer::from_file(folder() / name);
  round_trip(tokenizer, "The lamp: x 12,  \u00e9\u4e2d <s> e\u0301\U0001F642");
  tokenizer.to_json();
}

// The folders with a tokenizer and texts for it.
std::vector<fs::path> good_folders() {
  std::vector<fs::path> folders;
  for (const char* kind : {"tokenizers", "slow_tokenizers"})
    for (const auto& entry : fs::directory_iterator(data_folder / kind))
      if (fs::exists(entry.path() / "cases.json") || fs::exists(entry.path() / "slow.json"))
        folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

const std::vector<Tokenizer>& good_tokenizers() {
  static const std::vector<Tokenizer> tokenizers = [] {
    std::vector<Tokenizer> result;
    for (const fs::path& path : good_folders()) result.push_back(Tokenizer::from_file(path));
    return result;
  }();
  return tokenizers;
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> result;
  for (unsigned number = 0; const fs::path& path : good_folders()) {
    if (fs::exists(path / "tokenizer.json"))
      result.push_back(input_of_file(tokenizer_json, path / "tokenizer.json"));
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".model" || entry.path().extension() == ".spm")
        result.push_back(input_of_file(sentencepiece, entry.path()));
    const fs::path file = path / (fs::exists(path / "cases.json") ? "cases.json" : "slow.json");
    const Json cases = read_json(file);
    for (const Json& item : cases.is_array() ? cases : cases.at("cases"))
      result.push_back(input((text + kinds * number) & 0xFF, item.at("text").get<std::string>()));
    ++number;
  }
  return result;
}

}  // namespace attend::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend::fuzz;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % kinds) {
      case tokenizer_json:
        try_file("tokenizer.json", bytes);
        break;
      case sentencepiece:
        try_file("spiece.model", bytes);
        break;
      default:
        round_trip(good_tokenizers()[data[0] / kinds % good_tokenizers().size()], std::string(bytes));
    }
  } catch (const attend::Error&) {
  }
  return 0;
}
