// vocab.json and merges.txt of families whose merges join the letters of whole words, not bytes: GPT, CTRL,
// Blenderbot (small), XLM and BioGPT. All but GPT have no fast tokenizer in transformers.
#pragma once

#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/tokenizer_config.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::tokenizers {

struct BpeFamily;

struct BpeFiles {
  const BpeFamily& family;
  const TokenizerConfig& config;
  ModelTables vocabulary;                                   // without merges
  std::vector<std::pair<std::string, std::string>> merges;  // in the order of merges.txt
  std::string merges_source;
  std::map<std::string, std::string> tokens;  // by role
};

struct BpeFamily {
  std::vector<std::string_view> names;  // of tokenizer classes and model types
  TokenizerConfig::Kind kind;
  std::vector<Role> roles;
  TokenizerJson (*read)(BpeFiles files);
  bool has_counts = false;                              // a third column of merges.txt
  std::vector<TokenizerConfig::Token> additional = {};  // unless the directory has such a list
};

Json added_tokens(const BpeFiles& files);
void set_merges(ModelTables& tables, const BpeFiles& files);

TokenizerJson read_gpt(BpeFiles files);
TokenizerJson read_ctrl(BpeFiles files);
TokenizerJson read_blenderbot_small(BpeFiles files);
TokenizerJson read_xlm(BpeFiles files);
TokenizerJson read_biogpt(BpeFiles files);

}  // namespace attend::tokenizers
