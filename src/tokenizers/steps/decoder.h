// The "decoder" of tokenizer.json: from tokens back to text.
#pragma once

#include "formats/json/json.h"

#include <memory>
#include <string>
#include <vector>

namespace attend::tokenizers {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the tokens; their concatenation is the text.
  virtual void apply(std::vector<std::string>& tokens) const = 0;
  // The text that a token adds in the middle of a text: bytes, which may be incomplete characters. By default
  // a token is decoded as if it were alone.
  virtual std::string in_the_middle(std::string token) const {
    std::vector<std::string> tokens = {std::move(token)};
    apply(tokens);
    return tokens.empty() ? "" : std::move(tokens[0]);
  }
};

// `source` names the file and the field in errors; `depth` counts the Sequences around it.
std::unique_ptr<Decoder> make_decoder(const Json& json, const std::string& source, int depth = 0);

}  // namespace attend::tokenizers
