// Computes one expression with torch's tensors, with our own in the program's memory, and with our own on a
// device (tensor/device.h), for tests that compare them. The only place that includes torch.
#pragma once

#include "tensor/device.h"
#include "tensor/ops.h"
#include "tensor/tape.h"
#include "tensor/torch.h"

#include <cstring>
#include <sstream>

#include <gtest/gtest.h>

namespace attend {

using Sizes = std::vector<std::int64_t>;

inline at::ScalarType torch_type(ops::ScalarType type) {
  if (type == ops::kBool) return at::kBool;
  if (type == ops::kBFloat16) return at::kBFloat16;
  return static_cast<at::ScalarType>(type);  // the others have the same numbers
}
inline ops::ScalarType host_type(at::ScalarType type) {
  if (type == at::kBool) return ops::kBool;
  if (type == at::kBFloat16) return ops::kBFloat16;
  return static_cast<ops::ScalarType>(type);
}

// The `as` of an expression: as(x) is the tensor of the current kind, as(x, y) a list of two, as(type) a
// type. Ours has the strides of torch's, in its own memory.
struct AsTorch {
  at::Tensor operator()(const at::Tensor& x) const { return x; }
  at::ScalarType operator()(ops::ScalarType type) const { return torch_type(type); }
  template <class... More>
  std::vector<at::Tensor> operator()(const at::Tensor& first, const at::Tensor& second,
                                     const More&... more) const {
    return {first, second, more...};
  }
};
struct AsOurs {
  ops::Device* device = nullptr;

  ops::Tensor operator()(const at::Tensor& x) const {
    const auto bytes = static_cast<std::int64_t>(x.storage().nbytes());
    const ops::Tensor at_home = ops::empty({bytes}, ops::kByte);
    if (bytes > 0) std::memcpy(at_home.data(), x.storage().data(), static_cast<std::size_t>(bytes));
    const ops::Tensor memory = at_home.on(device);
    const auto& data = memory.body().data;
    auto body = std::make_shared<ops::Tensor::Body>();
    body->data = {data, data.get() + x.storage_offset() * static_cast<std::int64_t>(x.element_size())};
    body->memory = memory.body().memory;
    body->type = host_type(x.scalar_type());
    body->sizes = ops::Dimensions(x.sizes().data(), x.sizes().size());
    body->strides = ops::Dimensions(x.strides().data(), x.strides().size());
    return ops::Tensor(body);
  }
  ops::ScalarType operator()(ops::ScalarType type) const { return type; }
  template <class... More>
  std::vector<ops::Tensor> operator()(const at::Tensor& first, const at::Tensor& second,
                                      const More&... more) const {
    return {(*this)(first), (*this)(second), (*this)(more)...};
  }
};

}  // namespace attend
extern "C" attend::ops::Device* attend_open_device(const char* name);  // libtorch/device.cpp, in this program
namespace attend {

inline AsOurs on_device() {
  static ops::Device* const device = attend_open_device("cpu");
  return {device};
}

inline at::Tensor to_torch(const ops::Tensor& anywhere) {
  const ops::Tensor x = anywhere.home();
  return at::from_blob(x.data(), Sizes(x.sizes().vec()), Sizes(x.strides().vec()),
                       at::TensorOptions(torch_type(x.type())))
      .clone();
}

// NaN equals NaN; other numbers may differ by a relative `tolerance`, plus as much of the largest number or
// of 1, because sums lose precision by cancellation.
inline testing::AssertionResult same(const ops::Tensor& ours, const at::Tensor& theirs, double tolerance) {
  const at::Tensor found = to_torch(ours);
  const auto failure = [&](const char* what) {
    std::ostringstream text;
    if (found.sizes() == theirs.sizes() && found.numel() > 0)
      text << "at most " << (found.to(at::kDouble) - theirs.to(at::kDouble)).abs().nan_to_num(0).max()
           << ": ";
    text << what << " differ, ours is " << found.scalar_type() << found.sizes() << ", torch's "
         << theirs.scalar_type() << theirs.sizes();
    if (found.numel() <= 60 && theirs.numel() <= 60) text << "\n" << found << "\nand\n" << theirs;
    return testing::AssertionFailure() << text.str();
  };
  if (found.scalar_type() != theirs.scalar_type()) return failure("types");
  if (found.sizes() != theirs.sizes()) return failure("shapes");
  if (theirs.numel() == 0) return testing::AssertionSuccess();
  at::Tensor agree = found.eq(theirs);
  if (theirs.is_floating_point()) {
    agree = agree.logical_or(found.isnan().logical_and(theirs.isnan()));
    if (tolerance > 0) {
      const double given = theirs.scalar_type() == at::kDouble ? tolerance * 1e-6 : tolerance;
      const at::Tensor size = theirs.abs().nan_to_num(0, 0, 0);
      const at::Tensor most = size + size.max().clamp_max(1);
      const at::Tensor difference = (found - theirs).abs();
      agree = agree.logical_or(difference.isfinite().logical_and(difference.le(most * given)));
    }
  }
  return agree.all().item<bool>() ? testing::AssertionSuccess() : failure("numbers");
}

inline testing::AssertionResult same(const std::vector<ops::Tensor>& ours,
                                     const std::vector<at::Tensor>& theirs, double tolerance) {
  if (ours.size() != theirs.size())
    return testing::AssertionFailure() << ours.size() << " parts, torch's are " << theirs.size();
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (auto part = same(ours[i], theirs[i], tolerance); !part) return part << " in part " << i;
  return testing::AssertionSuccess();
}
inline testing::AssertionResult same(const std::tuple<ops::Tensor, ops::Tensor>& ours,
                                     const std::tuple<at::Tensor, at::Tensor>& theirs, double tolerance) {
  return same(std::vector{std::get<0>(ours), std::get<1>(ours)},
              std::vector{std::get<0>(theirs), std::get<1>(theirs)}, tolerance);
}

// torch's functions under our names, for expressions that are computed with both.
inline at::Tensor entropy_terms(const at::Tensor& x) {
  return at::special_entr(x);
}
inline at::Tensor with_margins(const at::Tensor& x, at::IntArrayRef margins, const at::Scalar& value = 0) {
  return at::constant_pad_nd(x, margins, value);
}
inline at::Tensor vector_norm(const at::Tensor& x, const at::Scalar& power = 2,
                              at::OptionalIntArrayRef dims = {}, bool keep = false) {
  return at::linalg_vector_norm(x, power, dims, keep);
}
inline at::Tensor resize_bicubic(const at::Tensor& x, at::IntArrayRef size, bool align_corners) {
  return at::upsample_bicubic2d(x, size, align_corners);
}
inline std::tuple<at::Tensor, at::Tensor> unique(const at::Tensor& x, bool sorted) {
  return at::_unique(x, sorted);
}

template <class F>
testing::AssertionResult computes_same(F f, double tolerance) {
  const auto theirs = f(AsTorch());
  if (auto result = same(f(AsOurs()), theirs, tolerance); !result) return result;
  constexpr double kOfDevice = 2e-6;  // torch's operations, but ours may consist of several
  return same(f(on_device()), theirs, std::max(tolerance, kOfDevice)) << " on a device";
}

// The results have the same shape, type and bits; or, for functions of floats, nearly the same numbers; or,
// for sums of many products, the same up to cancellation.
#define EXPECT_SAME(...) \
  EXPECT_TRUE(::attend::computes_same([&](auto as) { return __VA_ARGS__; }, 0)) << #__VA_ARGS__
#define EXPECT_CLOSE(...) \
  EXPECT_TRUE(::attend::computes_same([&](auto as) { return __VA_ARGS__; }, 2e-6)) << #__VA_ARGS__

template <class F>
testing::AssertionResult is_refused(F f) {
  try {
    f(AsOurs());
    return testing::AssertionFailure() << "not refused";
  } catch (const Error&) {
  }
  try {
    f(on_device());
    return testing::AssertionFailure() << "not refused on a device";
  } catch (const std::exception&) {
  }
  try {
    f(AsTorch());
    return testing::AssertionFailure() << "not refused by torch";
  } catch (const c10::Error&) {
  }
  return testing::AssertionSuccess();
}
#define EXPECT_CLOSE_SUMS(...) \
  EXPECT_TRUE(::attend::computes_same([&](auto as) { return __VA_ARGS__; }, 4e-5)) << #__VA_ARGS__
// Computed with both.
#define EXPECT_REFUSED(...) \
  EXPECT_TRUE(::attend::is_refused([&](auto as) { static_cast<void>(__VA_ARGS__); })) << #__VA_ARGS__

// Indices, labels or counts; and booleans (not 0).
inline at::Tensor places_of(std::initializer_list<std::int64_t> values) {
  return at::tensor(at::ArrayRef<std::int64_t>(values), at::kLong);
}
inline at::Tensor truths(std::initializer_list<std::int64_t> values) {
  return places_of(values).to(at::kBool);
}

inline at::Tensor random_numbers(Sizes shape, ops::ScalarType type) {
  if (ops::is_floating(type)) return at::randn(shape, torch_type(type)) * 2;
  const std::int64_t least = type == ops::kBool || type == ops::kByte ? 0 : -50;
  return at::randint(least, type == ops::kBool ? 2 : 50, shape, torch_type(type));
}

// Matrices of 4 rows and 6 columns with every memory layout that tensors can have, and one without rows.
inline std::vector<at::Tensor> random_matrices(ops::ScalarType type) {
  return {random_numbers({4, 6}, type),
          random_numbers({6, 4}, type).t(),
          random_numbers({9, 13}, type).slice(0, 1, 9, 2).slice(1, 1, 13, 2),
          random_numbers({6, 2, 4}, type).select(1, 1).t(),
          random_numbers({4, 1}, type).expand({4, 6}),
          random_numbers({6}, type).expand({4, 6}),
          random_numbers({0, 6}, type)};
}

inline const std::vector<ops::ScalarType> kSomeTypes = {ops::kBool, ops::kByte,  ops::kInt,
                                                        ops::kLong, ops::kFloat, ops::kDouble};

// Tests for one type each.
class OfEachType : public testing::TestWithParam<ops::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(7); }
};
inline std::string name_of_type(const testing::TestParamInfo<ops::ScalarType>& type) {
  return ops::name_of(type.param);
}

}  // namespace attend
