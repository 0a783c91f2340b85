// What a model does with one input: the attention of all layers and heads, how it is computed, what the model
// predicts, and how much each token contributes to the result.
//
//   auto explained = attend::explain("bert-base", {.text = "time flies like an arrow"});
//   std::ofstream("page.html") << explained.page();
#pragma once

#include <attend/export.h>
#include <attend/model_path.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {
struct Explanation;

inline namespace v1 {

struct ExplainInput {
  std::string text = {};
  std::optional<std::string> pair = {};             // the second text of a model that reads two
  std::optional<std::string> target = {};           // absent: the model generates it
  std::optional<std::filesystem::path> image = {};  // instead of the text
};

// How much each token contributes to one result of the model.
struct AttributionOptions {
  std::vector<std::string> methods = {};  // of attribution_methods(); empty: none
  // A label or a token, and one to compare with it. Empty `toward`: the likeliest (in a given target: the
  // target's own tokens). Empty `instead_of`: no comparison.
  std::string toward = {}, instead_of = {};
  // Positions in the text or target, from 0, at which a token is predicted: decoders predict the token after
  // the position, encoders the one at it. Empty: the end of a text; each mask; in a target the position of
  // `toward`, or every position.
  std::vector<std::int64_t> places = {};
  int steps = 50;             // of integrated gradients
  std::string baseline = {};  // "mask", "pad", "unk" or "zeros"; empty: the first of these that exists
};

ATTEND_API const std::vector<std::string>& attribution_methods();

struct ExplainOptions {
  std::vector<std::int64_t> layers = {};  // layers whose attentions are kept; empty: all
  // Number of predicted tokens to keep per position, and after each layer.
  std::int64_t predictions = 100, lens = 5;
  bool bfloat16 = false;  // matrix products round their factors to bfloat16
  AttributionOptions attribution = {};
};

// A picture of one view, as BertViz draws them: the lines of heads, all heads of a model, or how one query
// meets its keys.
enum class StillView { heads, model, neuron };

struct StillOptions {
  StillView view = StillView::heads;
  std::string attention = {};  // "self", "encoder", "decoder" or "cross"; empty: the first
  std::int64_t layer = 0;
  std::vector<std::int64_t> heads = {};    // empty: all; neuron: only the first
  std::optional<std::int64_t> token = {};  // heads: only its lines; neuron: the query (default: the first)
};

// The result of explain(). Copies share it; it does not change, so any number of threads may use it.
class ATTEND_API Explained {
 public:
  explicit Explained(std::shared_ptr<const Explanation> data) : data_(std::move(data)) {}

  std::string page() const;  // HTML that needs no network and no other file
  std::string json() const;  // everything, with all numbers
  // SVG. Throws Error for an attention, a layer, a head or a token that does not exist.
  std::string picture(const StillOptions& options = {}) const;
  // A safetensors file with all tensors, and the rest in its metadata field "explanation".
  void write_tensors(const std::filesystem::path& path) const;
  // Scores of the attribution methods for each token of the input, as the page shows them; empty without
  // methods.
  struct TokenScore {
    std::string method, token;
    float score = 0;
  };
  std::vector<TokenScore> token_scores() const;

 private:
  std::shared_ptr<const Explanation> data_;
};

// Runs the model on the input. Throws Error for an input that the model does not read, for an unknown label
// or token, and for attribution in weights without gradients.
ATTEND_API Explained explain(const ModelPath& model, const ExplainInput& input,
                             const ExplainOptions& options = {});

}  // namespace v1
}  // namespace attend
