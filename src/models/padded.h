// Converts between padded tensors [B, L, ...] with a mask and ragged rows [T, ...].
#pragma once

#include "nn/ragged.h"
#include "nn/spec.h"

namespace attend {

// Error unless `t` is a matrix of integers.
void check_matrix(const Tensor& t, const std::string& name);

// The layout of one padded input: which positions are real.
class Padded {
 public:
  // ids [B, L] and mask [B, L] of 0 and 1, or undefined: all real. Error, with `name`, otherwise.
  Padded(const Tensor& ids, const Tensor& mask, const std::string& name);

  // Positions count columns unless `positions` [B, L] or [1, L] says otherwise, as the originals do.
  TokenBatch batch(const Tensor& positions, const Tensor& types) const;
  const Tensor& ids() const { return ids_; }
  Tensor unpad(const Tensor& padded) const;                    // [B, L, ...] -> [T, ...]
  Tensor pad(const Tensor& rows) const;                        // [T, ...] -> [B, L, ...], zero where not real
  Tensor spread(const Tensor& rows) const;                     // [T, d] -> [B * L, d], differentiable
  Tensor collect(const Tensor& columns) const;                 // [B * L, d] -> [T, d], differentiable
  void check(const Tensor& t, const std::string& name) const;  // Error unless of shape [B, L]

  // The same ids without padding: every position real.
  Padded whole() const { return Padded(ids_, {}, ""); }
  // Which columns are real, as a span of each sequence; Error if there is padding between real ones.
  VisibleRows spans() const;

  std::int64_t sequences() const { return mask_.size(0); }
  std::int64_t length() const { return mask_.size(1); }
  // The row of column columns[b] of every sequence b: [B]. Error, with `name`, for a column that is not real.
  Tensor rows_at(const Tensor& columns, const std::string& name) const;
  Tensor padding() const { return mask_.logical_not(); }  // [B, L]
  // The real columns of sequence b: [n] int64.
  Tensor columns(std::int64_t b) const { return mask_[b].nonzero().squeeze(1); }

 private:
  Tensor ids_, mask_;  // [B, L], int64 and bool
};

// Error, with `name`, for a token id that the stack does not have.
void check_ids(const Padded& text, const StackSpec& stack, const std::string& name);

// Weights of each sequence [heads, Lq, Lk] -> [B, heads, Lq, Lk], zero where a query or key is not real.
Tensor pad_weights(const std::vector<Tensor>& weights, const Padded& queries, const Padded& keys);
// Those of a text to itself; what lies before its first token (Transformer-XL's empty keys) stays in front.
Tensor pad_own_weights(const std::vector<Tensor>& weights, const Padded& text);

}  // namespace attend
