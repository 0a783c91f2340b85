// XLNet on a padded batch (Yang et al. 2019, arXiv:1906.08237, sections 2.2 to 2.4): tokens may be hidden
// from each other (perm_mask), tokens are predicted by a second stream of rows that know their position but
// not their content (target_mapping), and all see memories of earlier segments of the text (mems).
#pragma once

#include "models/padded/forward_parts.h"

namespace attend {

// The rows of every text: its L columns, including padding, then one for each of its P targets. If the
// weights of the second stream are captured, one more for each column: the original computes weights also for
// columns that are no target, with a query of zero.
class Streams {
 public:
  // `given`: ids and padding. Reads perm_mask [B, L, L], target_mapping [B, P, L], token_type_ids, and the
  // length of `past`. An Error if they do not fit.
  Streams(const Padded& given, const Tensors& inputs, const StackSpec& stack, std::vector<Tensor> past,
          bool weights);

  TokenBatch batch;

  std::int64_t targets() const { return targets_; }
  // From all rows [B * rows, ...]: those of the columns [B * L, ...], and those of the targets [B * P, ...].
  Tensor content(const Tensor& rows) const { return part(rows, 0, columns_); }
  Tensor predicted(const Tensor& rows) const { return part(rows, columns_, targets_); }
  // The weights of a layer [heads, rows, M + L], for the content only and without padding.
  std::vector<Tensor> real_weights(const std::vector<Tensor>& weights, const Padded& given) const;
  // The weights of the second stream, [B, heads, L, M + L]; zero if a column is padding.
  Tensor query_weights(const std::vector<Tensor>& weights, const Padded& given) const;

 private:
  Tensor part(const Tensor& rows, std::int64_t first, std::int64_t count) const;

  std::int64_t rows() const { return columns_ + targets_ + blanks_; }

  std::int64_t sequences_, columns_, targets_ = 0, blanks_ = 0, past_ = 0;
  Tensor target_columns_;  // [B, P]
};

// The inputs mems.0, mems.1, ... [M, B, width], one for each layer, as [B, M, width]; empty if there are
// none.
std::vector<Tensor> read_past(const Tensors& inputs, std::int64_t sequences, const StackSpec& stack);
// Puts the memories for the next segment into `out`: the last `memory` states of each layer's input.
void put_memories(Tensors& out, const std::vector<Tensor>& layer_inputs, const std::vector<Tensor>& past,
                  const StackSpec& stack);

}  // namespace attend
