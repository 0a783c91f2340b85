// A small model whose tokens are letters, for tests of the public API.
#pragma once

#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <string>
#include <vector>

namespace attend {

// A golden model with a tokenizer whose tokens are letters, beginning with 'a'.
class LetterModel {
 public:
  explicit LetterModel(const std::string& name, char last = 'z') {
    std::filesystem::copy(test_data() / "models" / name, path());
    Json letters = Json::object();
    for (char c = 'a'; c <= last; ++c) letters[std::string(1, c)] = c - 'a';
    const Json tokenizer = {{"version", "1.0"},
                            {"added_tokens", Json::array()},
                            {"model", {{"type", "BPE"}, {"vocab", letters}, {"merges", Json::array()}}}};
    directory_.file("model/tokenizer.json", tokenizer.dump());
  }
  std::filesystem::path path() const { return directory_.path() / "model"; }

 private:
  TemporaryDirectory directory_;
};

inline const std::vector<std::string> kTexts = {"thequick", "brownfox", "a", "jumps"};

}  // namespace attend
