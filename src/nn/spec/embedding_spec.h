// The inputs of a stack as plain data (spec.h): tokens or patches, their positions and norms.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace attend {

struct NormSpec {
  double epsilon = 1e-5;
  bool root_mean_square = false;  // subtracts no mean, adds no bias (T5)
  bool bias = true;               // false: subtracts the mean but adds no bias (Cohere)
  bool around_one = false;        // the stored numbers are the factors minus 1 (Gemma)
};

// Queries and keys are rotated by their positions (RoPE: Su et al. 2021, arXiv:2104.09864): the first `size`
// numbers of each head in pairs; pair i is rotated by position * frequencies[i].
struct RotarySpec {
  std::int64_t size = 0;
  bool halves = false;                  // numbers i and i + size / 2 are a pair; else neighbours are
  std::vector<float> frequencies = {};  // empty: position / 10000^(2i / size)
  // For texts of more than `short_length` tokens (LongRoPE: Ding et al. 2024, arXiv:2402.13753); empty: the
  // same.
  std::vector<float> long_frequencies = {};
  std::int64_t short_length = 0;
  // For texts longer than in training, the base grows with the length.
  struct GrowingBase {
    double base = 10000, factor = 1;
    std::int64_t positions = 0;
  };
  std::optional<GrowingBase> growing = {};
  double factor = 1;  // of all sines and cosines
};

// A trained vector per position (Devlin et al. 2018). BART's table begins with `offset` unused rows.
struct LearnedPositions {
  std::int64_t count = 512, offset = 0;
  // RoBERTa: tokens with this id are not counted and get the row before the first; -1: all count.
  std::int64_t skipped_id = -1;
  // OPT: the same for padding, according to the attention mask.
  bool skips_padding = false;
  bool trained = true;  // false: stored, but not trained (XLM's sines)
};

// Fixed sines and cosines (Vaswani et al. 2017, section 3.5), laid out as [sin | cos].
struct SinusoidalPositions {
  std::int64_t count = 512;
  // M2M-100: the table begins with `offset` unused rows, tokens with this id are skipped as in
  // LearnedPositions and get zeros, and frequency i of n is 10000^(-i / (n - 1)) instead of 10000^(-i / n).
  std::int64_t offset = 0, skipped_id = -1;
  bool ends_included = false;
  bool grows = false;  // the table grows with the longest text (M2M-100): `count` is no limit
};

// No vectors: attention rotates by position (AttentionSpec::rotary). `count` is the longest text.
struct RotaryPositions {
  std::int64_t count = 2048;
};

// No vectors: each attention has vectors for distances (HeadDistances). `count` is the longest text.
struct DistantPositions {
  std::int64_t count = 512;
};

using PositionSpec =
    std::variant<std::monostate, LearnedPositions, SinusoidalPositions, RotaryPositions, DistantPositions>;

// Rare tokens have narrower vectors (Baevski & Auli 2018, arXiv:1809.10853) and are predicted in two steps:
// first their cluster, then the token (Grave et al. 2016, arXiv:1609.04309).
struct ClusterSpec {
  std::vector<std::int64_t> ends;  // ends of the clusters of token ids; the last is the vocabulary
  std::int64_t divisor = 1;        // divides the width from each cluster to the next
  // Which clusters the head projects with matrices of its own instead of the embeddings'; clusters without an
  // entry: only the first does.
  std::vector<bool> own_projections = {};

  bool has_own_projection(std::size_t cluster) const {
    return cluster < own_projections.size() ? own_projections[cluster] : cluster == 0;
  }
};

// Images instead of tokens: each is cut into patches, and a matrix makes a vector from a patch's pixels. A
// trained vector comes before them (Dosovitskiy et al. 2020, arXiv:2010.11929).
struct PatchSpec {
  std::int64_t channels = 3, height = 224, width = 224;  // of an image
  std::int64_t patch_height = 16, patch_width = 16;
  // A trained vector for patches that are hidden (Xie et al. 2021, arXiv:2111.09886).
  bool mask_token = false;
  double dropout = 0;

  std::int64_t rows() const { return height / patch_height; }
  std::int64_t columns() const { return width / patch_width; }
};

struct EmbeddingSpec {
  std::int64_t vocabulary = 0, width = 0;
  double scale = 1;  // factor of the token vectors: sqrt(width) in the original Transformer
  PositionSpec positions;
  std::int64_t types = 0;  // token types (BERT's segments); 0: none
  // GPT: token types are tokens, and their vectors are added.
  bool types_are_tokens = false;
  std::int64_t languages = 0;  // XLM: a vector for the language of each token; 0: none
  std::int64_t tasks = 0;      // ERNIE: a vector for the task of each token, usually the first; 0: none
  // Token id whose vector gets no gradient when it is looked up (torch's padding_idx); -1: none.
  std::int64_t padding_id = -1;
  std::optional<NormSpec> norm = {};
  bool norm_before_positions = false;  // applied to token vectors alone (the decoder of the small Blenderbot)
  double dropout = 0;
  std::optional<ClusterSpec> clusters = {};
  // XLNet: one more vector, which represents a token to be predicted.
  bool mask_vector = false;
  // The width of the layers if it differs: a matrix projects to it (ALBERT: Lan et al. 2019,
  // arXiv:1909.11942, section 3.1). 0: `width`.
  std::int64_t projected_width = 0;
  // last: after the norm, with a bias. Without bias and with everything that follows as wide as the layers:
  // before_norm (DeBERTa v2), or tokens, which projects token vectors before anything is added (OPT).
  enum class Projection { last, before_norm, tokens } projection = Projection::last;
};

}  // namespace attend
