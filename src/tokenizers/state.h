// The data of a Tokenizer.
#pragma once

#include <attend/tokenizer.h>

#include "tokenizers/added_tokens.h"
#include "tokenizers/files/json_tables.h"
#include "tokenizers/models/model.h"
#include "tokenizers/scratch.h"
#include "tokenizers/steps/decoder.h"
#include "tokenizers/steps/normalizer.h"
#include "tokenizers/steps/post_processor.h"
#include "tokenizers/steps/pre_tokenizer.h"

#include <memory>
#include <set>
#include <string>

namespace attend {

struct Tokenizer::State {
  // Offsets have 32 bits, and normal forms may make a text up to 18 times longer.
  static constexpr std::size_t max_text = std::size_t{1} << 27;

  State(tokenizers::TokenizerJson json, const std::string& source);
  std::string to_json() const;
  void lower_case();

  Encoding encode(std::string_view text, const std::string_view* pair, const EncodeOptions& options,
                  tokenizers::Scratch& scratch) const;
  void encode_sequence(std::string_view text, int sequence, tokenizers::Details details,
                       tokenizers::Scratch& scratch, Encoding& encoding) const;

  std::unique_ptr<tokenizers::Model> model;
  std::unique_ptr<tokenizers::Normalizer> normalizer;         // null: none
  std::unique_ptr<tokenizers::PreTokenizer> pre_tokenizer;    // null: none
  std::unique_ptr<tokenizers::PostProcessor> post_processor;  // null: none
  std::unique_ptr<tokenizers::Decoder> decoder;               // null: tokens are joined with spaces
  tokenizers::AddedTokens added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  bool slow = false;
  std::set<std::string> apart, closing;  // as in TokenizerJson
  std::string between_parts = " ";
  std::set<TokenId> marked;
  std::optional<TokenId> closes_once;
  bool cleans_up = false;        // for decoded text, from the directory
  bool needs_alignment = false;  // even if no offsets are requested
  Json parts;                    // normalizer, pre_tokenizer, post_processor and decoder, as they were read
  mutable tokenizers::ScratchPool scratch;
};

}  // namespace attend
