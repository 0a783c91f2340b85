// The architecture of a Transformer as plain data: a family turns its config.json into a ModelSpec, and the
// modules are built from it. No tensors here.
#pragma once

#include "kernels/kernels.h"
#include "nn/spec/embedding_spec.h"
#include "nn/spec/quirks.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace attend {

using kernels::Activation;

// Relative positions: how the layers of a stack use the distance of a key from a query (the query's position
// minus the key's).
//
// T5 (Raffel et al. 2019, arXiv:1910.10683, section 2.1): a trained number per head and bucket of distances.
// Small distances have a bucket each, larger ones share buckets, and all from max_distance on share one. A
// decoder, which only looks back, uses all buckets for that side.
struct BucketedBias {
  std::int64_t buckets = 32, max_distance = 128;
  std::int64_t rows = 0;   // of the table, whether used or not (MPNet); 0: one for each bucket
  bool per_layer = false;  // each layer has a table of its own (UMT5)
};
// Transformer-XL (Dai et al. 2019, arXiv:1901.02860, section 3.3): sines and cosines of the distance, limited
// to `clamp` in both directions (0: no limit).
struct SinusoidalDistances {
  std::int64_t clamp = 0;
  // One u and v for all layers, instead of one per layer (DistanceTerms::biases).
  bool biases = false;
};
// DeBERTa (He et al. 2020, arXiv:2006.03654, section 3.1): a trained vector for each of 2 * span distances.
// With max_distance, the outer half of them are buckets that grow with the distance (He et al. 2021,
// arXiv:2111.09543).
struct LearnedDistances {
  std::int64_t span = 512, max_distance = 0;
  std::optional<NormSpec> norm = {};
};
// Shaw et al. 2018, arXiv:1803.02155, section 3.2: every layer has a trained vector for each distance between
// `count` positions, as wide as a head and shared by its heads (DistanceTerms::own_vectors).
struct HeadDistances {
  std::int64_t count = 512;
};
// ALiBi (Press et al. 2021, arXiv:2108.12409): each head adds its own slope times the distance; nothing is
// trained. The slopes are a geometric sequence. Softmax depends only on differences, so if attention looks
// back, that is slope times the key's position in its text.
struct LinearDistances {
  double factor = 1;         // of what is added
  bool in_bfloat16 = false;  // slopes, positions and products are rounded to bfloat16 (Falcon)
};
using DistanceSpec = std::variant<std::monostate, BucketedBias, SinusoidalDistances, LearnedDistances,
                                  HeadDistances, LinearDistances>;

// How an attention uses the stack's vectors r for distances. The scores gain (query + bias) . K r and key . Q
// r, where K and Q are matrices of their own or those of keys and queries; or query . r and key . r, with
// vectors of its own (own_vectors).
struct DistanceTerms {
  bool with_query = true, with_key = false;
  bool own_matrices = true;
  std::int64_t own_vectors = 0;
  bool key_bias = false, query_bias = true;  // of K and of Q
  bool biases = false;                       // Transformer-XL's u and v, added to the query before the scores
  bool segments = false;  // XLNet: also (query + s) . e, where e tells the query's token type from others
  bool scaled = true;     // own_vectors: with the scores' scale (ALBERT: without)
  double dropout = 0;     // of the vectors
};

// BigBird's block-sparse pattern (Zaheer et al. 2020, arXiv:2007.14062): see nn/attention/block_sparse.h.
struct BlockSparse {
  std::int64_t size = 64, random = 3;
  std::int64_t longest = 4096;  // positions of the model: the random blocks of some lengths depend on them
};

// Queries and keys are normalized after their projections (Henry et al. 2020, arXiv:2010.04245).
struct QueryKeyNorm {
  NormSpec norm;
  enum class Of {
    heads,       // each head separately, all with the same factors
    own_heads,   // each head separately, with its own factors
    projections  // all heads together
  } of = Of::heads;
};

struct AttentionSpec {
  std::int64_t heads = 1, head_size = 0;
  double scale = 1;  // of the scores, usually 1 / sqrt(head_size)
  bool causal = false;
  // A query sees keys at a distance below this, including itself: causal, the last `window` keys (GPT-Neo);
  // else the same number on both sides (ModernBERT). 0: all.
  std::int64_t window = 0;
  // Heads of keys and values, each for heads / key_heads neighbouring heads of queries (Ainslie et al. 2023,
  // arXiv:2305.13245); 0: the number of heads.
  std::int64_t key_heads = 0;
  std::optional<std::size_t> rotary = {};  // the index in StackSpec::rotaries for queries and keys
  std::optional<QueryKeyNorm> query_key_norm = {};
  double soft_cap = 0;  // scores s become cap * tanh(s / cap) (Gemma 2); 0: no cap
  double clip = 0;      // queries, keys and values are limited to this absolute value (MPT); 0: no limit
  bool sinks = false;   // a trained score per head takes part in the softmax (gpt-oss)
  std::optional<DistanceTerms> distance = {};
  std::optional<BlockSparse> blocks = {};  // absent: dense
  AttentionQuirks quirks = {};
  // Adds this many keys and values of zeros before a text's first key: Transformer-XL's memory before the
  // first segment.
  std::int64_t empty_keys = 0;
  bool input_bias = true, output_bias = true;  // of the projections
  bool key_bias = true;                        // with input_bias: also of the keys (DeBERTa: not)
  double dropout = 0;                          // of the attention weights

  std::int64_t heads_of_keys() const { return key_heads > 0 ? key_heads : heads; }
  std::int64_t width() const { return heads * head_size; }                // of all queries
  std::int64_t key_width() const { return heads_of_keys() * head_size; }  // of all keys, and of all values
};

struct FeedForwardSpec {
  std::int64_t width = 0;
  Activation activation = Activation::relu;
  // A second matrix next to the first; its result is multiplied with the activation (Shazeer 2020,
  // arXiv:2002.05202).
  bool gated = false;
  // Gated: the first result is limited to at most this, the second to this absolute value, before `shift` is
  // added to the second (gpt-oss). 0: no limits.
  double limit = 0, shift = 0;
  bool bias = true;
  bool input_bias = true;              // with bias: also of the first matrix (JinaBERT: not)
  std::optional<double> dropout = {};  // after the activation; absent: the family has no such option
};

// Several feed-forward layers, the experts; a router chooses some of them for each token (Shazeer et al.
// 2017, arXiv:1701.06538). The result is their sum, weighted by the router.
struct ExpertsSpec {
  std::int64_t count = 1, chosen = 1;
  // The weights are a softmax over the scores of the chosen experts; false: over the scores of all experts.
  bool weights_sum_to_one = true;
  bool router_bias = false;
  // In training the input of router and experts is multiplied by 1 - jitter to 1 + jitter (Mixtral).
  double jitter = 0;
  // One more expert for every token, weighted by its own sigmoid (Qwen 1.5 MoE).
  std::optional<FeedForwardSpec> shared = {};
  bool balances_weights = false;  // RouterLoss reads the weights instead of the scores (gpt-oss)
};

// The position of a sublayer's norm: x = norm(x + f(x)), or x = x + f(norm(x)), or, with attention and
// feed-forward in parallel (GPT-J), x = x + f(norm(x)) + g(norm(x)), or x = x + norm(f(x)) (OLMo 2), or x = x
// + norm'(f(norm(x))) (Gemma 2).
enum class NormOrder { post, pre, parallel, result, around };

struct LayerSpec {
  NormOrder order = NormOrder::post;
  bool two_norms = false;    // parallel: f and g each have their own (GPT-NeoX)
  bool normed_input = true;  // pre: false without the norm before attention (ModernBERT's first layer)
  bool adds_to_normed =
      false;  // pre: x = norm(x) + f(norm(x)) (BLOOM's apply_residual_connection_post_layernorm)
  double result_scale = 1;  // factor of what a sublayer adds (Granite)
  NormSpec norm;
  AttentionSpec self_attention;
  std::optional<AttentionSpec> cross_attention = {};
  FeedForwardSpec feed_forward;
  std::optional<ExpertsSpec> experts = {};  // instead of one feed-forward layer; each expert has the spec
                                            // above
  // For a sublayer's result, before it is added.
  double attention_result_dropout = 0, feed_forward_result_dropout = 0;
};

// Parallel to a stack's first layer: x = norm(layer(x) + activation(conv(x))), a convolution over the tokens
// of a sequence, with zeros around it (He et al. 2020, DeBERTa v2).
struct ConvolutionSpec {
  std::int64_t kernel = 3, groups = 1;
  Activation activation = Activation::tanh;
  NormSpec norm;
  double dropout = 0;
};

// Embeddings and layers: an encoder, or a decoder (causal, with or without cross-attention).
struct StackSpec {
  EmbeddingSpec embeddings;
  std::optional<PatchSpec> patches = {};  // instead of embeddings, with the width of `embeddings`
  std::vector<LayerSpec> layers;
  std::optional<NormSpec> final_norm = {};
  // OPT: after the final norm, a matrix without bias projects back to the width of the embeddings.
  bool projects_back = false;
  std::optional<double> final_dropout = {};  // after the last layer; absent: the family has no such option
  DistanceSpec distances = {};
  std::vector<RotarySpec> rotaries = {};  // AttentionSpec::rotary is an index into them
  std::optional<ConvolutionSpec> convolution = {};
  // ALBERT: layer i computes with the weights of layer weights_of[i]; empty: each with its own.
  std::vector<std::int64_t> weights_of = {};
  StackQuirks quirks = {};
  // XLNet: every token sees itself, even if it is hidden from it, and a second stream of rows represents
  // tokens to be predicted (models/padded/streams.h).
  bool two_streams = false;
  // With two streams. looks_back: rows see only earlier rows and themselves. same_length: row i sees no keys
  // before key i, so that every row sees the same number.
  bool looks_back = false, same_length = false;
  // With two streams: the second half of a batch is read backwards, so its distances have the opposite sign.
  bool half_backwards = false;
  // The number of hidden states of each layer that the next segment of a text may attend to (Transformer-XL,
  // section 3.2); 0: all. Absent: none.
  std::optional<std::int64_t> memory = {};
  // How many of a segment's first states are kept; 0: all (XLNet's reuse_len).
  std::int64_t remembered = 0;

  std::int64_t width() const {
    return embeddings.projected_width > 0 ? embeddings.projected_width : embeddings.width;
  }
  std::int64_t result_width() const { return projects_back ? embeddings.width : width(); }
  // Whether a prompt's tokens depend on later ones when it is read into a cache. They do if attention looks
  // both ways, and in BERT with relative keys: transformers counts the distances of a whole prompt from its
  // end.
  bool prompts_are_whole() const {
    return !layers.front().self_attention.causal || std::holds_alternative<HeadDistances>(distances);
  }
};

// Scores over the vocabulary. The matrix is the token embedding unless `untied`.
struct LanguageModelHeadSpec {
  struct Transform {  // BERT's dense, activation and norm before the scores
    Activation activation = Activation::gelu;
    NormSpec norm;
    bool bias = true;  // of dense
  };
  std::optional<Transform> transform = {};
  bool bias = false, untied = false;
  double scale = 1;     // factor of the hidden states (T5's tied head)
  double soft_cap = 0;  // scores s become cap * tanh(s / cap) (Gemma 2); 0: no cap
  std::optional<ClusterSpec> clusters = {};
  LanguageModelHeadQuirks quirks = {};
};

// The kind of labels, which determines the loss.
enum class ProblemType { regression, single_label, multi_label };

// Which of the last hidden states a score head reads.
enum class HeadInput {
  pooled,
  first_token,
  last_token,  // the last that is not ScoreHeadSpec::token_id (GPT)
  // In a padded batch, the column with the number of tokens that are not token_id: the last such token, if
  // all padding comes after them (BioGPT).
  counted_column,
  last_column,   // of a padded batch, padding or not (XLNet)
  before_token,  // the last before the first ScoreHeadSpec::token_id (Transformer-XL)
  mean,          // of all columns of a padded batch, including padding
  text_begin,    // the first token that is not padding (ModernBERT's choices)
  text_mean,     // of all tokens that are not padding (ModernBERT)
  end_token,     // a decoder's, at the last ScoreHeadSpec::token_id of the encoder's input (BART)
  chosen_token,  // at the input mc_token_ids, or the last column
  every_token
};

// The meaning of the scores.
enum class ScoreKind {
  sequence_classification,
  next_sentence,  // BERT's second pretraining task; ALBERT's sentence order
  token_classification,
  replaced_tokens,     // ELECTRA's discriminator: one score per token
  question_answering,  // a start and an end for each token
  multiple_choice,     // one score per text; a question has several texts
};

// Scores over labels: out(norm(activation(dense(x)))), or out(x), with another activation after it.
struct ScoreHeadSpec {
  ScoreKind kind = ScoreKind::sequence_classification;
  HeadInput input = HeadInput::pooled;
  std::optional<Activation> dense = {};
  std::int64_t dense_width = 0;  // of dense's result; 0: the width of its input
  bool dense_matrix = true;      // false: only the activation
  bool dense_bias = true;
  std::optional<NormSpec> dense_norm = {};  // absent: none
  std::int64_t labels = 2;
  bool bias = true;         // of the last matrix
  bool last_matrix = true;  // false: its input is the scores
  Activation last_activation = Activation::none;
  std::optional<std::int64_t> token_id = {};  // for HeadInput
  std::optional<ProblemType> problem = {};    // absent: inferred from the labels, as in the original
  double dense_dropout = 0, dropout = 0;      // before each of the two matrices
  // BigBird: a feed-forward layer with its norm before the last matrix.
  struct Block {
    FeedForwardSpec feed_forward;
    NormSpec norm;
    double dropout = 0;  // of its result
  };
  std::optional<Block> block = {};
  // BigBird: the answer comes after the question, which ends with the first token of this id.
  std::optional<std::int64_t> question_end = {};
  ScoreHeadQuirks quirks = {};
};

// XLNet's search for an answer (Yang et al. 2019, appendix A.3): each of the best starts has its own scores
// of ends, and a text may have no answer.
struct SpanSearchSpec {
  std::int64_t starts = 5, ends = 5;  // how many of each are considered
  NormSpec norm;
};

// The part of a language model's loss that balances the load of its experts (Fedus et al. 2021,
// arXiv:2101.03961, section 2.2).
struct RouterLoss {
  double factor = 0;
  std::int64_t chosen = 1;  // ExpertsSpec::chosen
};

// Predicts the pixels of every patch from its hidden state, for images with hidden patches.
struct PixelHeadSpec {
  std::int64_t channels = 3, stride = 16;  // a patch becomes stride x stride pixels
};

// How new weights are drawn (nn/transformer/initialize.h).
struct InitializationSpec {
  // normal: matrices and embeddings from a normal distribution, as in BERT and GPT-2. xavier: Xavier's
  // uniform for matrices, width^-1/2 for the embeddings, as in the original Transformer. fan_in: in^-1/2 for
  // matrices, 1 for embeddings, with queries reduced so that scores need no scale, as in T5.
  enum class Kind { normal, xavier, fan_in } kind = Kind::normal;
  double range = 0.02;  // normal: standard deviation; fan_in: factor of all standard deviations
  // normal: for embeddings (XLM), and for matrices between clusters' widths and the model's (Transformer-XL);
  // absent: range.
  std::optional<double> embeddings = {}, projections = {};
  // GPT-2: the output matrices of sublayers are scaled by (2 layers)^-1/2 (Radford et al. 2019, section 2.3).
  bool narrow_results = false;
  bool norms_vary = false;  // Transformer-XL: the factors of norms are drawn around 1
};

// XLM generates with an encoder: the next token is the prediction for a mask after the text.
struct AppendedMask {
  std::int64_t id = 0;
  std::optional<std::int64_t> language = {};  // of every token
};

struct ModelSpec {
  std::optional<StackSpec> encoder, decoder;  // one of them or both
  bool share_embeddings = true;               // encoder and decoder use one embedding matrix
  bool pooler = false;                        // BERT's layer over the first token
  Activation pooler_activation = Activation::tanh;
  std::int64_t pooled_width = 0;  // of its result; 0: that of its input
  // BERT's pretraining has both.
  std::optional<LanguageModelHeadSpec> language_model_head;
  std::optional<ScoreHeadSpec> score_head;
  std::optional<RouterLoss> router_loss = {};
  std::optional<SpanSearchSpec> span_search = {};
  std::optional<AppendedMask> appended_mask = {};
  std::optional<PixelHeadSpec> pixel_head = {};
  InitializationSpec initialization = {};
  ModelQuirks quirks = {};
  // Encoder and decoder are bodies of two families; a matrix projects from one width to the other if `bridge`
  // is true.
  std::string_view encoder_family = {}, decoder_family = {};
  bool bridge = false;
};

}  // namespace attend
