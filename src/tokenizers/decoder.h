// The "decoder" of tokenizer.json: from tokens back to text.
#pragma once

#include "formats/json.h"

#include <memory>
#include <string>
#include <vector>

namespace attend::tokenizers {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the tokens; joined, they are the text.
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

// `source` names the file and the field in errors; `depth` counts the Sequences around it.
std::unique_ptr<Decoder> make_decoder(const Json& json, const std::string& source, int depth = 0);

}  // namespace attend::tokenizers
