// Adapters: small trained tensors that are added to frozen matrices and tables. LoRA (Hu et al. 2021,
// arXiv:2106.09685), DoRA (Liu et al. 2024, arXiv:2402.09353), IA3 (Liu et al. 2022, arXiv:2205.05638). The
// arithmetic is peft's.
#pragma once

#include "nn/pass/pass.h"
#include "nn/spec/spec.h"
#include "tensor/tensor.h"

#include <memory>
#include <mutex>
#include <span>

namespace attend {

class PackedMatrix;
class PackedWeight;

// What one adapter does to some rows of a matrix W [out, in]: those that are one matrix of the checkpoint
// (ours may stack several). Undefined tensors have no effect.
struct MatrixAdapter {
  std::int64_t adapter = 0;           // index of the adapter in the model
  std::int64_t first = 0, count = 0;  // the rows
  // LoRA: y += scale * (B dropout(x A) + bias).
  Tensor a, b, bias;  // [r, in], [count, r], [count]
  double scale = 1, dropout = 0;
  // DoRA: rows of W + scale B A get these lengths. [count]
  Tensor magnitude;
  // IA3: the result is multiplied by these `count` factors, or the input by these `in`.
  Tensor result_factors, input_factors;
  double share = 1;  // weight of an adapter in a mix

  // The lengths of the rows of W + scale B A [count], without a gradient.
  Tensor lengths(const Tensor& rows) const;
  bool knows_lengths() const;  // whether lengths() needs no rows any more

 private:
  struct Known {
    std::mutex mutex;
    Tensor lengths;
  };
  std::shared_ptr<Known> known_ = std::make_shared<Known>();  // while a and b are not trained
};

// What one adapter does to a table [n, d]: row i += scale * (B A)[:, i]. If there is a magnitude, the columns
// of the sum are then scaled to its lengths.
struct TableAdapter {
  std::int64_t adapter = 0;
  Tensor a, b;  // [r, n], [d, r]
  double scale = 1;
  Tensor magnitude;  // [d]
  double share = 1;
};

// The tensors of the adapters within a module, which train in addition to its own parameters.
std::vector<Tensor> adapter_tensors(const Module& module);

// Row i of a pass's tensors is computed with adapters[i] (-1: none; absent: all of them). Returns null if all
// are absent; throws Error if only some are. Neighbouring rows with the same adapter are one product.
std::shared_ptr<const AdapterChoice> choose_adapters(
    const std::vector<std::optional<std::int64_t>>& adapters);

// Rows of the matrix that adapters belong to, from row `first` on.
struct AdaptedRows {
  Tensor weight, bias;
  PackedWeight* packed;  // or null
  std::span<const MatrixAdapter> adapters;
  std::int64_t first = 0;
};
// activation(adapted(x W^T + b)) + residual, x [T, in]. Throws Error if an adapter's rows are partly outside
// of these.
Tensor adapted_linear(const Tensor& x, const AdaptedRows& rows, Pass& pass,
                      Activation activation = Activation::none, const Tensor& residual = {});

// Rows `ids` [T] of a table, adapted: [T, d]. `padding_id` is torch's padding_idx. `packed`, if not null, is
// read instead of the table.
Tensor adapted_rows(const Tensor& table, const PackedMatrix* packed, const Tensor& ids,
                    std::int64_t padding_id, std::span<const TableAdapter> adapters, const Pass& pass);

}  // namespace attend
