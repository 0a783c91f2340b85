// Switches off values of an attention.
#pragma once

#include "explain/one_layer.h"

namespace attend {

// While it exists, some columns of a matrix's output are zero, in all rows or in some. It is an adapter
// (nn/linear/adapters.h) with the index after the model's own.
class ZeroedValues {
 public:
  // `count` columns from column `first` on, of a model with `adapters` adapters of its own. `added` [count]:
  // what the attention itself adds to them, as in DeBERTa; undefined: nothing.
  ZeroedValues(LinearImpl& matrix, std::int64_t first, std::int64_t count, std::int64_t adapters,
               const Tensor& added);
  ZeroedValues(const ZeroedValues&) = delete;
  ZeroedValues& operator=(const ZeroedValues&) = delete;
  ~ZeroedValues() { matrix_.adapters.resize(before_); }

  // For Pass::adapters: only these of `total` rows; the model's own adapters apply to all rows.
  std::shared_ptr<const AdapterChoice> in(const std::vector<std::int64_t>& rows, std::int64_t total) const;

 private:
  LinearImpl& matrix_;
  std::int64_t number_;
  std::size_t before_;  // adapters of the matrix
};

// While it exists, `count` inputs of a matrix from `first` on are zero, in all rows. They are the output of
// one head, at the matrix that reads all heads.
class ZeroedInputs {
 public:
  // `adapters`: the number of adapters of the model itself.
  ZeroedInputs(LinearImpl& matrix, std::int64_t first, std::int64_t count, std::int64_t adapters);
  ZeroedInputs(const ZeroedInputs&) = delete;
  ZeroedInputs& operator=(const ZeroedInputs&) = delete;
  ~ZeroedInputs() { matrix_.adapters.resize(before_); }

 private:
  LinearImpl& matrix_;
  std::size_t before_;
};

}  // namespace attend
