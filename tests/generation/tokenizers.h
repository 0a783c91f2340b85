// A small tokenizer for the tests of texts.
#pragma once

#include <attend/tokenizer.h>

#include "formats/json/json.h"
#include "temporary_directory.h"

namespace attend {

// Byte-level, one token per byte: 'a', 'b', and the three bytes of the euro sign, E2 82 AC, as spelled by
// byte-level BPE.
inline Tokenizer byte_tokenizer(const TemporaryDirectory& directory) {
  const Json json = {
      {"version", "1.0"},
      {"added_tokens", Json::array({{{"id", 5},
                                     {"content", "<end>"},
                                     {"special", true},
                                     {"single_word", false},
                                     {"lstrip", false},
                                     {"rstrip", false},
                                     {"normalized", false}}})},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", {{"a", 0}, {"b", 1}, {"\u00e2", 2}, {"\u0124", 3}, {"\u00ac", 4}, {"<end>", 5}}},
        {"merges", Json::array()}}}};
  return Tokenizer::from_file(directory.file("tokenizer.json", json.dump()));
}

}  // namespace attend
