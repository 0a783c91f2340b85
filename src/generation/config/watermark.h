// Invisible watermarks in generated text: the preceding tokens and a key determine which tokens are favoured,
// and anyone with the key can count them later. Both kinds match transformers 4.57.6
// (generation/logits_process.py, watermarking.py), including torch's random numbers.
#pragma once

#include "formats/json.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace attend {

// Kirchenbauer et al. 2023 (arXiv:2306.04634): at each place a part of the vocabulary is green, and the
// scores of those tokens are raised.
struct GreenListWatermark {
  double ratio = 0.25;  // how much of the vocabulary is green, above 0 and below 1
  double bias = 2;      // what is added to a green token's score
  std::int64_t key = 15485863;
  // "selfhash" (their Algorithm 3): what is green follows from the last context_width tokens, the one in
  // question included, so that each is asked for itself. Otherwise ("lefthash", Algorithm 2) from the token
  // before.
  bool by_candidate = false;
  std::int64_t context_width = 1;
};

// SynthID-Text (Dathathri et al. 2024, Nature 634): the last ngram_length tokens and each key draw a bit; a
// tournament of as many rounds as keys favours tokens with ones. Of a text only what has been generated
// counts, and a place whose tokens before it have come already bears no mark.
struct SynthIdWatermark {
  std::int64_t ngram_length = 0;
  std::vector<std::int64_t> keys;
  std::int64_t context_history = 1024;  // so many places are remembered
  std::int64_t table_seed = 0, table_size = 65536;
  bool skip_first_ngrams = false;  // no mark before there are ngram_length - 1 tokens
  bool uniform = false;            // for trials: whatever the model says, all tokens are equally likely
};

using Watermark = std::variant<GreenListWatermark, SynthIdWatermark>;

// From the fields of transformers' WatermarkingConfig or, where there are ngram_len and keys, of its
// SynthIDTextWatermarkingConfig; nothing from null. Error, beginning with `source`, for anything else.
std::optional<Watermark> make_watermark(const Json& value, const std::string& source);

// The green tokens at a place.
class GreenLists {
 public:
  explicit GreenLists(const GreenListWatermark& watermark);
  // `tokens`, at least one: those before the place, by_candidate with the candidate behind them.
  std::vector<std::int64_t> at(std::span<const std::int64_t> tokens, std::int64_t vocabulary) const;

 private:
  GreenListWatermark watermark_;
  std::vector<std::int64_t> table_;  // by_candidate: a permutation
};

// The bits of SynthID-Text.
class SynthIdBits {
 public:
  explicit SynthIdBits(const SynthIdWatermark& watermark);
  // Of the tokens before a place, the last ngram_length - 1: what they are remembered by.
  std::int64_t hash(std::span<const std::int64_t> context) const;
  // Behind such a context, of a token and the key of each round: [rounds], 0 or 1.
  void bits(std::int64_t context_hash, std::int64_t token, std::span<float> bits) const;

 private:
  std::vector<std::int64_t> keys_;
  std::vector<float> table_;
};

// What somebody with the key finds in a text.
struct WatermarkCount {
  std::int64_t tokens = 0;  // that could bear a mark; 0: the text is too short to tell
  double marks = 0;         // green tokens, or ones among the bits of all rounds
  double share = 0;         // marks / tokens (or bits)
  double expected = 0;      // the share in other texts
  double z = 0;             // how many standard deviations that is above it
  // Of other texts the share that has as high a z: the upper tail of the normal distribution.
  double p = 1;
};

// `ids`: of the text that was generated, without prompt and special tokens.
WatermarkCount count_marks(const Watermark& watermark, std::int64_t vocabulary,
                           std::span<const std::int64_t> ids);

}  // namespace attend
