// Invisible watermarks in generated text: the preceding tokens and a key determine which tokens are favoured,
// and anyone with the key can count them later. Both kinds match transformers 4.57.6
// (generation/logits_process.py, watermarking.py), including torch's random numbers.
#pragma once

#include <attend/generation_config.h>

#include "formats/json/json.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend {

// From the fields of transformers' WatermarkingConfig or, if there are ngram_len and keys, of its
// SynthIDTextWatermarkingConfig; none from null. An Error that begins with `source` for anything else.
std::optional<Watermark> make_watermark(const Json& value, const std::string& source);
// The fields from which make_watermark makes it.
Json watermark_fields(const std::optional<Watermark>& watermark);

// The green tokens at a position.
class GreenLists {
 public:
  explicit GreenLists(const GreenListWatermark& watermark);
  // `tokens`, at least one: those before the position; with by_candidate followed by the candidate.
  std::vector<std::int64_t> at(std::span<const std::int64_t> tokens, std::int64_t vocabulary) const;

 private:
  GreenListWatermark watermark_;
  std::vector<std::int64_t> table_;  // by_candidate: a permutation
};

// The bits of SynthID-Text.
class SynthIdBits {
 public:
  explicit SynthIdBits(const SynthIdWatermark& watermark);
  // The hash of the last ngram_length - 1 tokens before a position, by which contexts are remembered.
  std::int64_t hash(std::span<const std::int64_t> context) const;
  // The bits of a token after such a context, one per key: [rounds], 0 or 1.
  void bits(std::int64_t context_hash, std::int64_t token, std::span<float> bits) const;

 private:
  std::vector<std::int64_t> keys_;
  std::vector<float> table_;
};

// What detection with the key finds in a text.
struct WatermarkCount {
  std::int64_t tokens = 0;  // that could be marked; 0: the text is too short
  double marks = 0;         // green tokens, or ones among the bits of all rounds
  double share = 0;         // marks / tokens (or bits)
  double expected = 0;      // the share in unmarked texts
  double z = 0;             // the difference in standard deviations
  // The share of unmarked texts with at least this z: the upper tail of the normal distribution.
  double p = 1;
};

// `ids`: of the generated text, without prompt and special tokens.
WatermarkCount count_marks(const Watermark& watermark, std::int64_t vocabulary,
                           std::span<const std::int64_t> ids);

}  // namespace attend
