// Ragged batches: B sequences stored one after another, without padding.
#pragma once

#include "tensor/tensor.h"

namespace attend {

// Where each sequence begins: offsets [B + 1]. Copies share the numbers.
class Offsets {
 public:
  Offsets() : Offsets(std::vector<std::int64_t>{}) {}
  explicit Offsets(const std::vector<std::int64_t>& lengths);

  std::int64_t count() const { return static_cast<std::int64_t>(data_->lengths.size()); }
  std::int64_t total() const { return data_->offsets.back(); }
  std::int64_t begin(std::int64_t b) const { return data_->offsets[b]; }
  std::int64_t length(std::int64_t b) const { return data_->lengths[b]; }
  std::int64_t longest() const { return data_->longest; }
  const std::vector<std::int64_t>& offsets() const { return data_->offsets; }  // [B + 1]
  const std::vector<std::int64_t>& lengths() const { return data_->lengths; }  // [B]

  // The rows of sequence b of a [T, ...] tensor.
  Tensor part(const Tensor& rows, std::int64_t b) const { return rows.narrow(0, begin(b), length(b)); }
  // The index of every sequence's first (or last) row: [B], int64.
  Tensor first_rows() const;
  Tensor last_rows() const;

 private:
  struct Data {
    std::vector<std::int64_t> offsets, lengths;
    std::int64_t longest = 0;
  };
  std::shared_ptr<const Data> data_;
};

// What each row of one sequence sees of its Lk keys.
struct QueryMask {
  Tensor penalty;          // [Lq, Lk], added to the scores
  Tensor places;           // [Lq] int64: the position of each row among the keys
  Tensor segments;         // [Lk] int64, or undefined: no token types are given
  bool backwards = false;  // distances have the opposite sign
  // [Lk] int64: the number of tokens before each key that are not padding; undefined: all keys before it.
  Tensor counted = {};
};

// Which rows of each sequence others may attend to, if not all: a padded batch has rows that are computed
// although no other row sees them.
struct KeyMask {
  std::vector<std::int64_t> first, count;  // [B], within the sequence
  std::vector<QueryMask> own = {};         // [B]; empty: every row sees all of them
  Tensor no_query = {};                    // [T] bool: rows whose query is zero; undefined: none

  // 1 for visible rows and 0 for others: [T, 1].
  Tensor rows(const Offsets& offsets, ScalarType type) const;
};

// The input of a stack.
struct TokenBatch {
  Tensor ids;        // [T] int64
  Tensor positions;  // [T] int64: the position of each token in its sequence
  Tensor types;      // [T] int64, or undefined: all 0
  Offsets offsets;
  bool positions_given = false;                      // by a caller, not counted
  bool columns = false;                              // positions are columns of a padded batch
  std::shared_ptr<const KeyMask> visible = nullptr;  // null: all
  Tensor languages = {};                             // [T] int64, or undefined: none
  Tensor tasks = {};                                 // [T] int64, or undefined: all 0
  Tensor predicted = {};  // [T] bool: rows with XLNet's mask vector instead of their token's vector;
                          // undefined: none
  bool prompted = false;  // ids after the vocabulary are virtual tokens (nn/layers/virtual_tokens.h)
  // Per layer, its states of earlier segments of the B texts: [B, M, d]; empty: none.
  std::vector<Tensor> past = {};
  // [B]: the number of prefix rows before each text; `positions` include them. Empty: none.
  std::vector<std::int64_t> before = {};
  std::int64_t rows_before(std::int64_t b) const {
    return before.empty() ? 0 : before[static_cast<std::size_t>(b)];
  }

  // Positions count from 0, or from `first_positions[b]` (tokens that follow cached ones).
  static TokenBatch from(const std::vector<std::vector<std::int64_t>>& sequences,
                         const std::vector<std::int64_t>& first_positions = {});
  // Texts first ... first + count - 1, of a batch without `visible`, `past` and `before`.
  TokenBatch texts(std::int64_t first, std::int64_t count) const;
};

}  // namespace attend
