// How byte-level BPE cuts a text before it merges bytes, by the names that tokenizer.ggml.pre has for it.
#pragma once

#include "formats/gguf.h"
#include "formats/json.h"

#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

struct GgufCut {
  std::vector<std::string_view> names;
  const char* pattern;        // null: as GPT-2 does
  bool digits_apart = false;  // before that, each digit stands alone
  bool composes = false;      // characters are composed first (NFC)
  bool keeps_known = false;   // a word that is a token is not merged
  bool begins = false;        // texts begin with bos_token, unless the file says otherwise
};

// Error for a name that is not known.
const GgufCut& gguf_cut(const Gguf& gguf);
// Says it in a tokenizer.json that cuts as GPT-2 does.
void set_cut(const GgufCut& cut, Json& fields);
// The name of what a tokenizer.json does; Error if there is none.
std::string name_of_cut(const Json& fields, const std::string& source);

}  // namespace attend::tokenizers
