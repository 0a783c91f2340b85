#include "explain/zeroed_values.h"

namespace attend {

ZeroedValues::ZeroedValues(LinearImpl& matrix, std::int64_t first, std::int64_t count, std::int64_t adapters,
                           const Tensor& added)
    : matrix_(matrix), number_(adapters), before_(matrix.adapters.size()) {
  MatrixAdapter zero;
  zero.adapter = number_;
  zero.first = first;
  zero.count = count;
  zero.result_factors = ops::zeros({count});
  matrix_.adapters.push_back(zero);
  if (!added.defined()) return;
  MatrixAdapter less;  // a LoRA that has only a bias
  less.adapter = number_;
  less.first = first;
  less.count = count;
  less.a = ops::zeros({1, matrix.weight.size(1)});
  less.b = ops::zeros({count, 1});
  less.bias = -added.detach();
  matrix_.adapters.push_back(less);
}

ZeroedInputs::ZeroedInputs(LinearImpl& matrix, std::int64_t first, std::int64_t count, std::int64_t adapters)
    : matrix_(matrix), before_(matrix.adapters.size()) {
  MatrixAdapter zero;
  zero.adapter = adapters;
  zero.count = matrix.weight.size(0);
  zero.input_factors = ops::ones({matrix.weight.size(1)});
  zero.input_factors.narrow(0, first, count).zero_();
  matrix_.adapters.push_back(zero);
}

std::shared_ptr<const AdapterChoice> ZeroedValues::in(const std::vector<std::int64_t>& rows,
                                                      std::int64_t total) const {
  auto choice = std::make_shared<AdapterChoice>();
  choice->rows = total;
  for (std::int64_t own = 0; own < number_; ++own) choice->runs.push_back({own, 0, total});
  for (const std::int64_t row : rows) choice->runs.push_back({number_, row, 1});
  return choice;
}

}  // namespace attend
