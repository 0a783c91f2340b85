// The first layer of a stack: token vectors, positions, token types, norm.
#pragma once

#include "nn/layers/norm.h"
#include "nn/layers/virtual_tokens.h"
#include "nn/linear/linear.h"
#include "nn/losses/clusters.h"
#include "nn/pass/pass.h"
#include "nn/pass/ragged.h"
#include "nn/spec/spec.h"

#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace attend {

// The table of Vaswani et al. 2017, section 3.5: [count + offset, width].
Tensor sinusoidal_positions(const SinusoidalPositions& spec, std::int64_t width);

// The longest possible sequence.
std::int64_t max_positions(const EmbeddingSpec& spec);

// [T] ids -> [T, width], or [T, projected_width].
class EmbeddingsImpl : public Module {
 public:
  // `tokens`: a matrix that another stack owns (three-way tying), or undefined.
  explicit EmbeddingsImpl(const EmbeddingSpec& spec, const Tensor& tokens = {});
  // An Error for an id outside the vocabulary or a position after the end of the table.
  Tensor forward(const TokenBatch& batch, Pass& pass);
  // What forward() adds up before its norm: the vectors of "token", "type", "language", "task" and
  // "position", as far as the model has them. [T, width] each; a type or task that all rows share is [width].
  struct Summand {
    const char* name;
    Tensor rows;
  };
  std::vector<Summand> summands(const TokenBatch& batch, Pass& pass);
  // The scaled vector of each token, before anything is projected, normalized or added. [T, width]
  Tensor input_vectors(const TokenBatch& batch, const Pass& pass);

  // The ids of the virtual tokens before a text with this adapter (absent: those of all adapters).
  std::vector<std::int64_t> prompt(std::optional<std::int64_t> adapter) const {
    return prompt_ids(prompts, spec_.vocabulary, adapter);
  }

  // Error for an id outside the vocabulary.
  void check_ids(std::span<const std::int64_t> ids) const;

  const EmbeddingSpec& spec() const { return spec_; }
  std::int64_t max_positions() const { return attend::max_positions(spec_); }
  // The position that a caller gives for the first token of a text to get the default numbering.
  std::int64_t first_position() const;

  // For the tables below, by name.
  std::map<std::string, std::vector<TableAdapter>> adapters;
  std::vector<TokenPrompt> prompts;
  Tensor tokens;                                      // [vocabulary, width]; undefined with clusters
  std::shared_ptr<const PackedMatrix> packed_tokens;  // replaces `tokens` if not null
  ClusterEmbeddings clusters{nullptr};
  Tensor positions;  // [count + offset, width], learned or computed; undefined: none
  Tensor types;      // [types, width], or undefined
  Tensor mask;       // [1, 1, width], as in checkpoints (so weight decay applies), or undefined
  Tensor languages;  // [languages, width], or undefined
  Tensor tasks;      // [tasks, width], or undefined

 private:
  // The vectors of `kinds` [T] in the table of this name; undefined: of kind 0. `what` is for the Error for a
  // kind outside the table.
  Tensor kind_rows(const char* name, const Tensor& table, const Tensor& kinds, const TokenBatch& batch,
                   const char* what, const Pass& pass) const;
  // Rows `ids` [T] of the table of this name, with its adapters: [T, width].
  Tensor rows(const char* name, const Tensor& table, const Tensor& ids, std::int64_t padding_id,
              const Pass& pass) const;
  // [T, width], before anything is added.
  Tensor token_vectors(const Tensor& ids, const Pass& pass);
  Tensor prompted_vectors(const TokenBatch& batch, const Pass& pass);
  // Without reading `positions`, which another thread may replace by a longer table.
  bool has_position_table() const;
  Tensor rows_of(const TokenBatch& batch);  // the row of `positions` for each token: [T]
  // Extends a table of sines to include these rows, if it may grow. An Error if rows are still missing.
  void reach(const Tensor& rows, const char* what);
  // The current `positions`, in the pass's type. A copy of the handle, because another thread may extend a
  // table of sines meanwhile.
  Tensor position_table(const Tensor& like);

  EmbeddingSpec spec_;
  std::mutex growing_;  // protects a growing table of sines, and its count in spec_
  LayerNorm norm_{nullptr};
  Linear projection_{nullptr};
};
ATTEND_MODULE(Embeddings);

}  // namespace attend
