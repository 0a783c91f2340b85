// How byte-level BPE splits a text before it merges bytes, by the names of tokenizer.ggml.pre.
#pragma once

#include "formats/json/json.h"
#include "sources/gguf/gguf.h"

#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

struct GgufCut {
  std::vector<std::string_view> names;
  const char* pattern;        // null: GPT-2's
  bool digits_apart = false;  // first, each digit becomes a separate word
  bool composes = false;      // characters are composed first (NFC)
  bool keeps_known = false;   // a word that is a token is not merged
  bool begins = false;        // texts begin with bos_token, unless the file says otherwise
};

const GgufCut* find_cut(std::string_view name);  // null: unknown
// An Error for an unknown name.
const GgufCut& gguf_cut(const Gguf& gguf);
// Writes it into a tokenizer.json that splits text like GPT-2.
void set_cut(const GgufCut& cut, Json& fields);
// The name for the rules of a tokenizer.json; an Error if there is none.
std::string name_of_cut(const Json& fields, const std::string& source);

}  // namespace attend::tokenizers
