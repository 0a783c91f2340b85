// Hostile tokenizers and hostile text: whatever the bytes are, there is a tokenizer or an Error. The first
// byte says what the rest is: a tokenizer.json, a SentencePiece model, or text for the tokenizers that
// ATTEND_FUZZ_DATA (tests/data) holds.
//
//   build/fuzz/tokenizer-fuzz -max_total_time=60 -max_len=65536 CORPUS
#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using attend::Tokenizer;

// A folder of this process, in memory where there is such a file system.
const fs::path& folder() {
  static const fs::path path = [] {
    const fs::path memory = "/dev/shm", name = "attend-fuzz-" + std::to_string(::getpid());
    const fs::path result = (fs::is_directory(memory) ? memory : fs::temp_directory_path()) / name;
    fs::create_directories(result);
    attend::write_file_atomically(result / "tokenizer_config.json", R"({"tokenizer_class":"T5Tokenizer"})");
    return result;
  }();
  return path;
}

void round_trip(const Tokenizer& tokenizer, const std::string& text) {
  const attend::Encoding encoding = tokenizer.encode_pair(text, text);
  tokenizer.decode(encoding.ids);
  tokenizer.decode(tokenizer.encode(text, {.with_details = false}).ids, true);
}

void try_file(const char* name, std::string_view bytes) {
  attend::write_file_atomically(folder() / name, bytes);
  const Tokenizer tokenizer = Tokenizer::from_file(folder() / name);
  round_trip(tokenizer, "The lamp: x 12, \u00e9\u4e2d <s> \U0001F642");
  tokenizer.to_json();
}

const std::vector<Tokenizer>& good_tokenizers() {
  static const std::vector<Tokenizer> tokenizers = [] {
    const fs::path data = ATTEND_FUZZ_DATA;
    std::vector<Tokenizer> result;
    for (const char* kind : {"tokenizers", "slow_tokenizers"})
      for (const auto& entry : fs::directory_iterator(data / kind))
        if (fs::exists(entry.path() / "cases.json") || fs::exists(entry.path() / "slow.json"))
          result.push_back(Tokenizer::from_file(entry.path()));
    return result;
  }();
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 3) {
      case 0:
        try_file("tokenizer.json", bytes);
        break;
      case 1:
        try_file("spiece.model", bytes);
        break;
      default:
        for (const Tokenizer& tokenizer : good_tokenizers()) round_trip(tokenizer, std::string(bytes));
    }
  } catch (const attend::Error&) {
  }
  return 0;
}
