// What a Transformer is made of, as plain data: a family turns its config.json into a ModelSpec, and the
// modules are built from it. No torch here.
#pragma once

#include "kernels/kernels.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace attend {

using kernels::Activation;

struct NormSpec {
  double epsilon = 1e-5;
};

// A trained vector per position (Devlin et al. 2018). BART's table begins with `offset` unused rows.
struct LearnedPositions {
  std::int64_t count = 512, offset = 0;
};

// Fixed sines and cosines (Vaswani et al. 2017, section 3.5), as Marian lays them out: [sin | cos].
struct SinusoidalPositions {
  std::int64_t count = 512;
};

using PositionSpec = std::variant<std::monostate, LearnedPositions, SinusoidalPositions>;

struct EmbeddingSpec {
  std::int64_t vocabulary = 0, width = 0;
  double scale = 1;  // of the token vectors: sqrt(width) in the original Transformer
  PositionSpec positions;
  std::int64_t types = 0;  // token types (BERT's segments); 0: none
  // Looking up this id gives the vector but no gradient to it (torch's padding_idx); -1: none.
  std::int64_t padding_id = -1;
  std::optional<NormSpec> norm;
  double dropout = 0;
};

struct AttentionSpec {
  std::int64_t heads = 1, head_size = 0;
  double scale = 1;  // of the scores, usually 1 / sqrt(head_size)
  bool causal = false;
  double dropout = 0;  // of the attention weights
};

struct FeedForwardSpec {
  std::int64_t width = 0;
  Activation activation = Activation::relu;
  double dropout = 0;  // after the activation
};

// Where the norm of a sublayer stands: x = norm(x + f(x)), or x = x + f(norm(x)).
enum class NormOrder { post, pre };

struct LayerSpec {
  NormOrder order = NormOrder::post;
  NormSpec norm;
  AttentionSpec self_attention;
  std::optional<AttentionSpec> cross_attention;
  FeedForwardSpec feed_forward;
  double dropout = 0;  // of each sublayer's result, before it is added
};

// Embeddings and layers: an encoder, or a decoder (causal, with or without cross-attention).
struct StackSpec {
  EmbeddingSpec embeddings;
  std::vector<LayerSpec> layers;
  std::optional<NormSpec> final_norm;
};

// Scores over the vocabulary. The matrix is the token embedding unless `untied`.
struct LanguageModelHeadSpec {
  struct Transform {  // BERT's dense, activation and norm before the scores
    Activation activation = Activation::gelu;
    NormSpec norm;
  };
  std::optional<Transform> transform;
  bool bias = false, untied = false;
};

// What the labels of a classification are: decides the loss.
enum class ProblemType { regression, single_label, multi_label };

// Scores over labels, from the pooled first token.
struct ClassificationHeadSpec {
  std::int64_t labels = 2;
  std::optional<ProblemType> problem;  // absent: from the labels, as the original infers it
  double dropout = 0;
};

using HeadSpec = std::variant<std::monostate, LanguageModelHeadSpec, ClassificationHeadSpec>;

// How fresh weights are drawn: a normal distribution of one width for all, as BERT and GPT-2; or Xavier's
// uniform for the matrices and width^-1/2 for the embeddings, as the original Transformer.
enum class Initialization { normal, xavier };

struct ModelSpec {
  std::optional<StackSpec> encoder, decoder;  // one of them or both
  bool share_embeddings = true;               // encoder and decoder use one embedding matrix
  bool pooler = false;                        // BERT's tanh layer over the first token
  HeadSpec head;
  Initialization initialization = Initialization::normal;
  double initializer_range = 0.02;  // standard deviation of the normal distribution
};

}  // namespace attend
