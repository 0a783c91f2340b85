// The architecture of a Transformer as plain data: a family turns its config.json into a ModelSpec, and the
// modules are built from it. No tensors here.
#pragma once

#include "kernels/kernels.h"
#include "nn/embedding_spec.h"
#include "nn/quirks.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace attend {

using kernels::Activation;

// Relative positions: the layers of a stack know how far a key is from a query (distance = the query's place
// minus the key's).
//
// T5 (Raffel et al. 2019, arXiv:1910.10683, section 2.1): a trained number per head and bucket of distances.
// Near ones have buckets of their own, farther ones share, and so do all from max_distance on. A decoder,
// which looks only back, has all buckets for that side.
struct BucketedBias {
  std::int64_t buckets = 32, max_distance = 128;
  std::int64_t rows = 0;   // of the table, whatever is used of it (MPNet); 0: one for each bucket
  bool per_layer = false;  // each layer has a table of its own (UMT5)
};
// Transformer-XL (Dai et al. 2019, arXiv:1901.02860, section 3.3): sines and cosines of the distance, which
// is taken to be at most `clamp` either way (0: any).
struct SinusoidalDistances {
  std::int64_t clamp = 0;
  // u and v of all layers together, instead of each layer's own (DistanceTerms::biases).
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
// `count` positions, as wide as a head, which its heads share (DistanceTerms::own_vectors).
struct HeadDistances {
  std::int64_t count = 512;
};
// ALiBi (Press et al. 2021, arXiv:2108.12409): each head adds a slope of its own times how far the key is,
// and nothing is trained. Slopes are a geometric sequence; softmax feels only differences, so where attention
// looks back, that is slope times the key's place, counted from its text's first token.
struct LinearDistances {
  double factor = 1;         // of what is added
  bool in_bfloat16 = false;  // slopes, places and products are rounded to bfloat16 (Falcon)
};
using DistanceSpec = std::variant<std::monostate, BucketedBias, SinusoidalDistances, LearnedDistances,
                                  HeadDistances, LinearDistances>;

// What an attention makes of the stack's vectors for distances. The scores gain (query + bias) . K r and
// key . Q r, with matrices K and Q of its own or those of keys and queries; or query . r and key . r, with so
// many vectors of its own.
struct DistanceTerms {
  bool with_query = true, with_key = false;
  bool own_matrices = true;
  std::int64_t own_vectors = 0;
  bool key_bias = false, query_bias = true;  // of K and of Q
  bool biases = false;                       // Transformer-XL's u and v, added to the query before the scores
  bool segments = false;  // XLNet: (query + s) . e as well, where e tells the query's token type from others
  bool scaled = true;     // own_vectors: with the scores' scale (ALBERT: without)
  double dropout = 0;     // of the vectors
};

// BigBird's block-sparse pattern (Zaheer et al. 2020, arXiv:2007.14062): see nn/block_sparse.h.
struct BlockSparse {
  std::int64_t size = 64, random = 3;
  std::int64_t longest = 4096;  // positions of the model: the random blocks of some lengths depend on them
};

// Queries and keys are normed as they come from their matrices (Henry et al. 2020, arXiv:2010.04245).
struct QueryKeyNorm {
  NormSpec norm;
  enum class Of {
    heads,       // each head by itself, all with the same factors
    own_heads,   // each head by itself, with factors of its own
    projections  // all heads together
  } of = Of::heads;
};

struct AttentionSpec {
  std::int64_t heads = 1, head_size = 0;
  double scale = 1;  // of the scores, usually 1 / sqrt(head_size)
  bool causal = false;
  // A query sees keys that are nearer than this, itself included: causal, the last so many (GPT-Neo); else as
  // many on both sides (ModernBERT). 0: all.
  std::int64_t window = 0;
  // Heads of keys and values, each for heads / key_heads neighbouring heads of queries (Ainslie et al. 2023,
  // arXiv:2305.13245); 0: as many as heads.
  std::int64_t key_heads = 0;
  std::optional<std::size_t> rotary = {};  // which of StackSpec::rotaries turns queries and keys
  std::optional<QueryKeyNorm> query_key_norm = {};
  double soft_cap = 0;  // scores s become cap * tanh(s / cap) (Gemma 2); 0: they stay
  double clip = 0;     // queries, keys and values are brought to at most this, either way (MPT); 0: they stay
  bool sinks = false;  // a trained score per head takes its share of the softmax (gpt-oss)
  std::optional<DistanceTerms> distance = {};
  std::optional<BlockSparse> blocks = {};  // absent: dense
  AttentionQuirks quirks = {};
  // Before a text's first key stand so many keys and values of zeros: Transformer-XL's memory, before
  // anything has been read.
  std::int64_t empty_keys = 0;
  bool input_bias = true, output_bias = true;  // of the projections
  bool key_bias = true;                        // with input_bias: of the keys too (DeBERTa: not)
  double dropout = 0;                          // of the attention weights

  std::int64_t heads_of_keys() const { return key_heads > 0 ? key_heads : heads; }
  std::int64_t width() const { return heads * head_size; }                // of all queries
  std::int64_t key_width() const { return heads_of_keys() * head_size; }  // of all keys, and of all values
};

struct FeedForwardSpec {
  std::int64_t width = 0;
  Activation activation = Activation::relu;
  // A second matrix beside the first, whose result is multiplied with the activation (Shazeer 2020,
  // arXiv:2002.05202).
  bool gated = false;
  // Gated: the first result is at most this and the second within this of 0, before `shift` is added to the
  // second (gpt-oss). 0: no bounds.
  double limit = 0, shift = 0;
  bool bias = true;
  std::optional<double> dropout = {};  // after the activation; absent: the family has none there
};

// Several feed-forward layers, the experts, of which a router chooses some for each token (Shazeer et al.
// 2017, arXiv:1701.06538). The result is the sum of theirs, weighted by the router.
struct ExpertsSpec {
  std::int64_t count = 1, chosen = 1;
  // The weights are a softmax over the scores of the chosen experts; false: over the scores of all experts.
  bool weights_sum_to_one = true;
  bool router_bias = false;
  double jitter =
      0;  // in training what router and experts read is multiplied by 1 - this to 1 + this (Mixtral)
  // One more for every token, weighted by a sigmoid of its own (Qwen 1.5 MoE).
  std::optional<FeedForwardSpec> shared = {};
  bool balances_weights = false;  // RouterLoss reads the weights in place of the scores (gpt-oss)
};

// Where the norm of a sublayer stands: x = norm(x + f(x)), or x = x + f(norm(x)), or, with attention and
// feed-forward side by side (GPT-J), x = x + f(norm(x)) + g(norm(x)), or x = x + norm(f(x)) (OLMo 2), or x =
// x + norm'(f(norm(x))) (Gemma 2).
enum class NormOrder { post, pre, parallel, result, around };

struct LayerSpec {
  NormOrder order = NormOrder::post;
  bool two_norms = false;    // parallel: f and g each have their own (GPT-NeoX)
  bool normed_input = true;  // false: pre, without the norm before attention (ModernBERT's first layer)
  bool adds_to_normed =
      false;  // pre: x = norm(x) + f(norm(x)) (BLOOM's apply_residual_connection_post_layernorm)
  double result_scale = 1;  // of what a sublayer adds (Granite)
  NormSpec norm;
  AttentionSpec self_attention;
  std::optional<AttentionSpec> cross_attention = {};
  FeedForwardSpec feed_forward;
  std::optional<ExpertsSpec> experts = {};  // in place of one such layer, each of which is as it says
  // Of a sublayer's result, before it is added.
  double attention_result_dropout = 0, feed_forward_result_dropout = 0;
};

// Beside a stack's first layer: x = norm(layer(x) + activation(conv(x))), a convolution over the tokens of a
// sequence, with zeros around it (He et al. 2020, DeBERTa v2).
struct ConvolutionSpec {
  std::int64_t kernel = 3, groups = 1;
  Activation activation = Activation::tanh;
  NormSpec norm;
  double dropout = 0;
};

// Embeddings and layers: an encoder, or a decoder (causal, with or without cross-attention).
struct StackSpec {
  EmbeddingSpec embeddings;
  std::optional<PatchSpec> patches = {};  // instead of them, as wide as `embeddings`
  std::vector<LayerSpec> layers;
  std::optional<NormSpec> final_norm = {};
  // OPT: behind it, a matrix without bias leads back to the width of the embeddings.
  bool projects_back = false;
  std::optional<double> final_dropout = {};  // behind the last layer; absent: the family has none there
  DistanceSpec distances = {};
  std::vector<RotarySpec> rotaries = {};  // of which AttentionSpec::rotary names one
  std::optional<ConvolutionSpec> convolution = {};
  // ALBERT: layer i computes with the weights of layer weights_of[i]; empty: each with its own.
  std::vector<std::int64_t> weights_of = {};
  StackQuirks quirks = {};
  // XLNet: every token sees itself, whatever is hidden from it, and a second stream of rows stands for tokens
  // that are to be predicted (models/streams.h).
  bool two_streams = false;
  // Of two streams: rows see those before them and themselves alone, and of the first so many keys as there
  // are rows only those behind their own (`same_length`).
  bool looks_back = false, same_length = false;
  // Of two streams: the second half of a batch is read backwards, so distances count the other way.
  bool half_backwards = false;
  // How many hidden states of each layer the next segment of a text may look back at (Transformer-XL, section
  // 3.2); 0: all. Absent: none are kept.
  std::optional<std::int64_t> memory = {};
  // Of each segment only its first so many; 0: all (XLNet's reuse_len).
  std::int64_t remembered = 0;

  std::int64_t width() const {
    return embeddings.projected_width > 0 ? embeddings.projected_width : embeddings.width;
  }
  std::int64_t result_width() const { return projects_back ? embeddings.width : width(); }
  // Read into a cache, do a prompt's tokens depend on those behind them? They do where attention looks both
  // ways, and in BERT with relative keys: transformers counts the distances of a whole prompt from its end.
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
  double scale = 1;     // of the hidden states (T5's tied head)
  double soft_cap = 0;  // scores s become cap * tanh(s / cap) (Gemma 2); 0: they stay
  std::optional<ClusterSpec> clusters = {};
  LanguageModelHeadQuirks quirks = {};
};

// What the labels of a classification are: decides the loss.
enum class ProblemType { regression, single_label, multi_label };

// What a score head reads of the last hidden states.
enum class HeadInput {
  pooled,
  first_token,
  last_token,  // the last that is not ScoreHeadSpec::token_id (GPT)
  // In a padded batch, the column of the number that so many tokens as are not token_id have: the last one's,
  // where all others stand behind them (BioGPT).
  counted_column,
  last_column,   // of a padded batch, padding or not (XLNet)
  before_token,  // the last before the first ScoreHeadSpec::token_id (Transformer-XL)
  mean,          // of all columns of a padded batch, padding or not
  text_begin,    // the first token that is no padding (ModernBERT's choices)
  text_mean,     // of all tokens that are no padding (ModernBERT)
  end_token,     // a decoder's where the encoder's input has its last ScoreHeadSpec::token_id (BART)
  chosen_token,  // where the input mc_token_ids says, or the last column
  every_token
};

// What its scores mean.
enum class ScoreKind {
  sequence_classification,
  next_sentence,  // BERT's second pretraining task; ALBERT's sentence order
  token_classification,
  replaced_tokens,     // ELECTRA's discriminator: one score per token
  question_answering,  // a start and an end for each token
  multiple_choice,     // one score per text; a question has several texts
};

// Scores over labels: out(norm(activation(dense(x)))), or out(x), with another activation behind it.
struct ScoreHeadSpec {
  ScoreKind kind = ScoreKind::sequence_classification;
  HeadInput input = HeadInput::pooled;
  std::optional<Activation> dense = {};
  std::int64_t dense_width = 0;  // of its result; 0: that of its input
  bool dense_matrix = true;      // false: the activation alone
  bool dense_bias = true;
  std::optional<NormSpec> dense_norm = {};  // absent: none
  std::int64_t labels = 2;
  bool bias = true;         // of the last matrix
  bool last_matrix = true;  // false: what it would read is the scores
  Activation last_activation = Activation::none;
  std::optional<std::int64_t> token_id = {};  // for HeadInput
  std::optional<ProblemType> problem = {};    // absent: from the labels, as the original infers it
  double dense_dropout = 0, dropout = 0;      // before the one matrix and before the other
  // BigBird: a feed-forward layer with its norm before the last matrix.
  struct Block {
    FeedForwardSpec feed_forward;
    NormSpec norm;
    double dropout = 0;  // of its result
  };
  std::optional<Block> block = {};
  // BigBird's answers stand behind the question, which ends with the first token of this id.
  std::optional<std::int64_t> question_end = {};
  ScoreHeadQuirks quirks = {};
};

// XLNet's search for an answer (Yang et al. 2019, appendix A.3): each of the likeliest starts has its own
// scores of ends, and a text may hold no answer.
struct SpanSearchSpec {
  std::int64_t starts = 5, ends = 5;  // how many of each are kept
  NormSpec norm;
};

// Part of a language model's loss that keeps its experts equally busy (Fedus et al. 2021, arXiv:2101.03961,
// section 2.2).
struct RouterLoss {
  double factor = 0;
  std::int64_t chosen = 1;  // ExpertsSpec::chosen
};

// Every patch's pixels from its hidden state, for images with hidden patches.
struct PixelHeadSpec {
  std::int64_t channels = 3, stride = 16;  // so many pixels high and wide is what a patch becomes
};

// How fresh weights are drawn (nn/initialize.h).
struct InitializationSpec {
  // normal: matrices and embeddings from a normal distribution, as BERT and GPT-2; xavier: Xavier's uniform
  // for matrices and width^-1/2 for the embeddings, as the original Transformer; fan_in: in^-1/2 for matrices
  // and 1 for embeddings, with queries so much smaller that scores need no scale, as T5.
  enum class Kind { normal, xavier, fan_in } kind = Kind::normal;
  double range = 0.02;  // normal: standard deviation; fan_in: of all widths, a factor
  // normal: of embeddings (XLM) and of matrices between clusters' widths and the model's (Transformer-XL);
  // absent: range.
  std::optional<double> embeddings = {}, projections = {};
  // GPT-2: what layers add gets smaller the more of them there are, by (2 layers)^-1/2 (Radford et al. 2019,
  // section 2.3).
  bool narrow_results = false;
  bool norms_vary = false;  // Transformer-XL: the factors of norms are drawn around 1
};

// XLM generates with an encoder: the next token is what stands for a mask behind the text.
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
  // Both in BERT's pretraining.
  std::optional<LanguageModelHeadSpec> language_model_head;
  std::optional<ScoreHeadSpec> score_head;
  std::optional<RouterLoss> router_loss = {};
  std::optional<SpanSearchSpec> span_search = {};
  std::optional<AppendedMask> appended_mask = {};
  std::optional<PixelHeadSpec> pixel_head = {};
  InitializationSpec initialization = {};
  ModelQuirks quirks = {};
  // Encoder and decoder are each the body of a family of their own, and a matrix leads from the one's width
  // to the other's where `bridge` says so.
  std::string_view encoder_family = {}, decoder_family = {};
  bool bridge = false;
};

}  // namespace attend
