// The first layer of a stack: token vectors, positions, token types, norm.
#pragma once

#include "nn/clusters.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/pass.h"
#include "nn/ragged.h"
#include "nn/spec.h"
#include "nn/virtual_tokens.h"

#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace attend {

// Vaswani et al. 2017, section 3.5: [count + offset, width].
Tensor sinusoidal_positions(const SinusoidalPositions& spec, std::int64_t width);

// How long a sequence may be.
std::int64_t max_positions(const EmbeddingSpec& spec);

// [T] ids -> [T, width], or [T, projected_width].
class EmbeddingsImpl : public Module {
 public:
  // `tokens`: a matrix that another stack owns (three-way tying), or undefined.
  explicit EmbeddingsImpl(const EmbeddingSpec& spec, const Tensor& tokens = {});
  // Error for an id outside the vocabulary and a position past the table.
  Tensor forward(const TokenBatch& batch, Pass& pass);
  // What forward() adds up before its norm: the vectors of "token", "type", "language", "task" and
  // "position", as far as there are any. [T, width] each; a type or task that all rows share is [width].
  struct Summand {
    const char* name;
    Tensor rows;
  };
  std::vector<Summand> summands(const TokenBatch& batch, Pass& pass);
  // What the vocabulary has for each token, scaled: before anything is projected, normed or added. [T, width]
  Tensor input_vectors(const TokenBatch& batch, const Pass& pass);

  // The ids of the virtual tokens that a text of this adapter has before it (absent: of all that there are).
  std::vector<std::int64_t> prompt(std::optional<std::int64_t> adapter) const {
    return prompt_ids(prompts, spec_.vocabulary, adapter);
  }

  // Error for an id outside the vocabulary.
  void check_ids(std::span<const std::int64_t> ids) const;

  const EmbeddingSpec& spec() const { return spec_; }
  std::int64_t max_positions() const { return attend::max_positions(spec_); }
  // What a caller who gives positions gives for the first token of a text, so that it is as counted.
  std::int64_t first_position() const;

  // Of the tables below, by name.
  std::map<std::string, std::vector<TableAdapter>> adapters;
  std::vector<TokenPrompt> prompts;
  Tensor tokens;                                      // [vocabulary, width]; undefined with clusters
  std::shared_ptr<const PackedMatrix> packed_tokens;  // in its place, if not null
  ClusterEmbeddings clusters{nullptr};
  Tensor positions;  // [count + offset, width], learned or computed; undefined: none
  Tensor types;      // [types, width], or undefined
  Tensor mask;       // [1, 1, width], as checkpoints have it (so it decays), or undefined
  Tensor languages;  // [languages, width], or undefined
  Tensor tasks;      // [tasks, width], or undefined

 private:
  // The vectors of `kinds` [T] in the table of this name; undefined: of kind 0. `what` is for the Error for
  // one outside the table.
  Tensor kind_rows(const char* name, const Tensor& table, const Tensor& kinds, const TokenBatch& batch,
                   const char* what, const Pass& pass) const;
  // Rows `ids` [T] of the table of this name, with its adapters: [T, width].
  Tensor rows(const char* name, const Tensor& table, const Tensor& ids, std::int64_t padding_id,
              const Pass& pass) const;
  // [T, width], before anything is added.
  Tensor token_vectors(const Tensor& ids, const Pass& pass);
  Tensor prompted_vectors(const TokenBatch& batch, const Pass& pass);
  Tensor rows_of(const TokenBatch& batch);  // which row of `positions` each token gets: [T]
  // Makes the table of sines so long that it has these rows, if it may grow. Error if it lacks some then.
  void reach(const Tensor& rows, const char* what);
  // `positions` as they are now, where a pass wants them: a table of sines may grow while another thread
  // reads.
  Tensor position_table(const Tensor& like);

  EmbeddingSpec spec_;
  std::mutex growing_;  // of a table of sines, and its count in spec_
  LayerNorm norm_{nullptr};
  Linear projection_{nullptr};
};
ATTEND_MODULE(Embeddings);

}  // namespace attend
