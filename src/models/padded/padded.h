// Converts between padded tensors [B, L, ...] with a mask and ragged rows [T, ...].
#pragma once

#include "nn/pass/ragged.h"
#include "nn/spec/spec.h"

namespace attend {

// An Error unless `t` is a matrix of integers.
void check_matrix(const Tensor& t, const std::string& name);

// The layout of one padded input: which positions are real.
class Padded {
 public:
  // ids [B, L] and mask [B, L] of 0 and 1, or undefined: all real. Otherwise an Error that contains `name`.
  Padded(const Tensor& ids, const Tensor& mask, const std::string& name);

  // Positions are column indices unless `positions` [B, L] or [1, L] is given, as in the originals.
  TokenBatch batch(const Tensor& positions, const Tensor& types) const;
  const Tensor& ids() const { return ids_; }
  Tensor unpad(const Tensor& padded) const;                    // [B, L, ...] -> [T, ...]
  Tensor pad(const Tensor& rows) const;                        // [T, ...] -> [B, L, ...], zero where not real
  Tensor spread(const Tensor& rows) const;                     // [T, d] -> [B * L, d], differentiable
  Tensor collect(const Tensor& columns) const;                 // [B * L, d] -> [T, d], differentiable
  void check(const Tensor& t, const std::string& name) const;  // an Error unless its shape is [B, L]

  // The same ids without padding: every position is real.
  Padded whole() const { return Padded(ids_, {}, ""); }
  // The real columns of each sequence as a span; an Error if there is padding between real columns.
  KeyMask spans() const;

  std::int64_t sequences() const { return mask_.size(0); }
  std::int64_t length() const { return mask_.size(1); }
  // The row of column columns[b] of every sequence b: [B]. An Error that contains `name` for a column that is
  // not real.
  Tensor rows_at(const Tensor& columns, const std::string& name) const;
  Tensor padding() const { return mask_.logical_not(); }  // [B, L]
  // The real columns of sequence b: [n] int64.
  Tensor columns(std::int64_t b) const { return mask_[b].nonzero().squeeze(1); }

 private:
  Tensor ids_, mask_;  // [B, L], int64 and bool
};

// An Error that contains `name` for a token id that the stack does not have.
void check_ids(const Padded& text, const StackSpec& stack, const std::string& name);

// Weights of each sequence [heads, Lq, Lk] -> [B, heads, Lq, Lk]; zero if a query or key is not real.
Tensor pad_weights(const std::vector<Tensor>& weights, const Padded& queries, const Padded& keys);
// The same for self-attention; keys before the first token (Transformer-XL's empty keys) stay in front.
Tensor pad_own_weights(const std::vector<Tensor>& weights, const Padded& text);

}  // namespace attend
