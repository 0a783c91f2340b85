// What a model did with one input, as data: everything that pages, pictures and files show.
#pragma once

#include "nn/pass/pass.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {

struct ExplainedToken {
  std::string text;   // readable, in UTF-8; with the space before it where a word begins
  std::string piece;  // as the tokenizer spells it
  std::int64_t id = 0;
  int segment = 0;         // 0: of the first text, 1: of the second
  bool special = false;    // not part of the text
  bool continues = false;  // continues the word of the token before
  // A character may consist of several tokens: this is part `part` of `parts`, and `text` is the whole
  // character.
  int part = 1, parts = 1;
  std::int64_t word = -1, sentence = -1;  // index on the side, from 0; -1 for a special token
};

// A picture, divided into patches row by row; token 0 represents all of it.
struct ExplainedPicture {
  std::int64_t rows = 0, columns = 0;  // of patches
  std::int64_t width = 0, height = 0;  // of the original picture
  Tensor pixels;                       // [H, W, 3] bytes, in the size that the model sees
};

// A row of tokens that a stack reads.
struct ExplainedSide {
  std::string name;  // "text", "source", "target", "picture"
  std::vector<std::string> texts;
  std::vector<ExplainedToken> tokens;
  std::optional<ExplainedPicture> picture = {};
  // The vectors that are summed up before the first layer, by name, [T, width] each; and the input of each
  // layer and the output of the last: [T, d].
  std::vector<std::pair<std::string, Tensor>> embedded = {};
  std::vector<Tensor> hidden = {};
};

// Means over the queries of a layer, one number per head.
struct HeadStatistics {
  std::vector<float> entropy;    // of a row, in nats: exp(entropy) equally weighted tokens have the same
  std::vector<float> distance;   // from query to key, in tokens or a picture's patches; empty: queries and
                                 // keys are on different sides
  std::vector<float> itself;     // weight of the token itself; empty: as above
  std::vector<float> before;     // weight of the previous token; empty: as above
  std::vector<float> first;      // weight of the first token
  std::vector<float> separator;  // weight of special tokens except the first
};

// One kind of attention: queries of one side read keys of one side.
struct ExplainedAttention {
  std::string name;                   // "self", "encoder", "decoder", "cross"
  std::size_t queries = 0, keys = 0;  // sides
  bool causal = false;
  std::string family = {};  // its special features, in words
  // If there is a past, one more key in front represents it.
  std::int64_t memory = 0;
  struct Layer {
    std::int64_t number = 0;  // index among all of the stack, from 0
    Tensor weights;           // [heads, Lq, Lk]
    ScoreTerms scores;
    HeadStatistics statistics = {};
  };
  std::vector<Layer> layers = {};
  std::int64_t all_layers = 0;
};

// The likeliest tokens, best first, at some positions of a side.
struct TokenRanking {
  Tensor ids;     // [places, n] int64
  Tensor logits;  // [places, n]
  Tensor total;   // the logarithm of the sum of exp(logit) over the whole vocabulary
};

// The model's predictions at each position of a side, and the predictions after each layer (the logit lens:
// nostalgebraist 2020).
struct ExplainedPredictions {
  std::size_t side = 0;
  bool next = false;            // of the next token, not of the one at the position
  std::int64_t vocabulary = 0;  // number of tokens
  TokenRanking last;
  std::vector<TokenRanking> lens = {};  // of the embeddings, then of each layer
};

struct LabelOutput {
  std::string label;
  float logit = 0;
};

// One text of a beam search.
struct ExplainedBeam {
  std::vector<ExplainedToken> tokens;
  std::vector<float> log_probabilities;  // of each token
  float score = 0;
};

// How a result changes when tokens are removed, most important first (DeYoung et al. 2020, arXiv:1911.03429,
// section 4). "Certainty" is the result's probability, or its score if it has none.
struct Faithfulness {
  // The certainty lost without the most important tokens (higher is more faithful), and lost with only these
  // tokens (lower is more faithful): means over the first 1, 5, 10, 20 and 50 %.
  double comprehensiveness = 0, sufficiency = 0;
  struct Step {
    std::int64_t taken = 0;  // number of tokens
    double certainty = 0;    // without them
  };
  std::vector<Step> curve = {};  // from none to all
};

// How much each token contributes to a result, by one method.
struct Attribution {
  std::string method;                           // "integrated-gradients"
  std::vector<std::vector<float>> scores = {};  // by side, one for each token
  // For integrated gradients: the sum of all scores should be score - baseline.
  struct Completeness {
    double score = 0, baseline = 0, sum = 0;
    double gap() const { return score - baseline - sum; }
  };
  std::optional<Completeness> completeness = {};
  std::optional<Faithfulness> faithfulness = {};  // absent: no token may be removed
};

// One result and its attributions.
struct AttributedResult {
  bool label = false;                   // a label's score; else a token's
  std::string toward, instead_of = {};  // the explained label or token, and the one to compare with; "": none
  std::int64_t toward_id = 0, instead_of_id = -1;  // their ids
  std::size_t side = 0;  // the side and position of the prediction; position -1 for a label
  std::int64_t place = -1;
  double score = 0, certainty = 0;
  bool has_probability = true;  // certainty is a probability
  std::string baseline;         // the replacement of a removed token, in words
  std::vector<Attribution> methods = {};
  std::optional<Faithfulness> chance = {};  // with tokens in random order, which a method should beat
};

// How a model's metrics on a data set change without each of its heads.
struct Ablation {
  std::string task;         // "classification"
  double loss = 0;          // of the whole model
  std::string figure = {};  // the name of a metric in addition to the loss ("accuracy"); "": none
  double value = 0;         // of the whole model
  struct Layer {
    std::string attention;  // as ExplainedAttention::name
    std::int64_t number = 0;
    std::vector<float> loss = {}, value = {};  // the change without each head
  };
  std::vector<Layer> layers;
};

struct Explanation {
  std::string model, family, architecture;
  std::vector<ExplainedSide> sides = {};
  std::vector<ExplainedAttention> attentions = {};
  std::optional<ExplainedPredictions> predictions = {};
  std::vector<LabelOutput> labels = {};
  std::vector<ExplainedBeam> beams = {};
  std::vector<AttributedResult> attributions = {};
  std::optional<Ablation> ablation = {};
  // The explanation to compare with, and its difference ("without its adapters"); null: no comparison.
  std::shared_ptr<const Explanation> other = {};
  std::string difference = {};
  // The texts of all tokens that the predictions name, by id.
  std::vector<std::pair<std::int64_t, std::string>> vocabulary = {};
};

}  // namespace attend
