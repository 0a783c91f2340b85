#include "tensor/ops.h"
#include "tensor/tape.h"

#include <Eigen/SVD>

namespace attend::ops {

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x, bool full_matrices) {
  if (full_matrices || x.dim() != 2) fail("svd: expected a matrix, and full_matrices = false");
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Unrecorded unrecorded;
  const Tensor numbers = x.to(kDouble).contiguous();
  const Eigen::Map<const Matrix> matrix(numbers.const_data<double>(), x.size(0), x.size(1));
  const Eigen::BDCSVD<Eigen::MatrixXd> found(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const auto tensor_of = [&](const Matrix& values) {
    const Tensor made = empty({values.rows(), values.cols()}, kDouble);
    std::copy_n(values.data(), values.size(), made.data<double>());
    return made.to(x.type());
  };
  return {tensor_of(found.matrixU()), tensor_of(found.singularValues()).flatten(),
          tensor_of(found.matrixV().transpose())};
}

}  // namespace attend::ops
