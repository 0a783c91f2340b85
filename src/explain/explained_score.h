// A model's scores as a function of the input vectors of its tokens, before positions and the like are added,
// or of the pixels of a picture's patches. So a token can be removed, entirely or partly, without moving
// others.
#pragma once

#include "models/checkpoint/pretrained_model.h"

#include <functional>

namespace attend {

// The input of a model.
struct GivenInput {
  Tensor ids, types = {};  // of its only text or its source; types may be undefined
  Tensor target_ids = {};  // [Lt] int64, of a decoder with an encoder
  Tensor pixels = {};      // [1, C, H, W], instead of ids
};

// The score to explain.
struct AskedScore {
  bool label = false;                           // true: of a label, else of a token
  std::int64_t place = 0;                       // of a token: its position in the last side
  std::int64_t toward = 0;                      // its index
  std::optional<std::int64_t> instead_of = {};  // minus the score of this one

  Tensor of(const Tensor& scores) const;  // [copies, V or labels] -> [copies]
};

// For one input. Its lists of tensors have an entry for each side: the text, source or picture, and the
// target.
class ExplainedScore {
 public:
  // Throws Error if the model's scores are not a function of its tokens' vectors alone.
  ExplainedScore(const PretrainedModel& model, GivenInput given);
  ExplainedScore(const ExplainedScore&) = delete;
  ExplainedScore& operator=(const ExplainedScore&) = delete;

  const PretrainedModel& model() const { return model_; }
  Transformer network() const { return network_; }
  const GivenInput& input() const { return given_; }
  std::size_t sides() const { return inputs_.size(); }
  bool is_picture() const { return given_.pixels.defined(); }
  // The input vectors of each side: [n, d]. A picture's first token, which is not a patch, has zeros.
  const std::vector<Tensor>& inputs() const { return inputs_; }
  // The input vector of a token id, on a side with tokens: [d].
  Tensor vector_of(std::size_t side, std::int64_t id) const;

  // x: [copies, n, d] for each side. Returns scores over the vocabulary at the position in question, or over
  // labels: [copies, V or labels]. Differentiable in x if gradients are on.
  Tensor scores(const std::vector<Tensor>& x, const AskedScore& asked, Pass& pass) const;
  // The rows of the last stack's result that a label's score reads, or the position of a token. Empty: all
  // rows.
  std::vector<std::int64_t> rows_read(const AskedScore& asked) const;
  // The probability of the result: between it and `instead_of` if that is given, else among all. Without a
  // probability, the score itself. [copies]
  Tensor certainty(const Tensor& scores, const AskedScore& asked) const;
  bool has_probability(const AskedScore& asked) const;

  // Copies of the input that go through the model together: each adds rows, and a pass should have a limited
  // number of them.
  std::int64_t copies_at_once() const;

 private:
  struct Copies;
  Tensor encoded(const Tensor& x, const Copies& copies, Pass& pass) const;

  const PretrainedModel& model_;
  mutable Transformer network_;
  GivenInput given_;
  std::vector<Tensor> inputs_;
};

// Calls work(first, count) for ranges of the indices from 0 to `total`, with count <= `max`.
void in_parts(std::int64_t total, std::int64_t max,
              const std::function<void(std::int64_t first, std::int64_t count)>& work);

}  // namespace attend
