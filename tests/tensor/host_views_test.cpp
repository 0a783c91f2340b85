// Our tensors against torch's: operations that move numbers without computing. Everything here is exact.
#include "both_tensors.h"

#include <limits>

namespace attend {
namespace {

using HostViews = OfEachType;
INSTANTIATE_TEST_SUITE_P(, HostViews, testing::ValuesIn(kSomeTypes), name_of_type);

TEST_P(HostViews, OfMatrices) {
  for (const at::Tensor& x : random_matrices(GetParam())) {
    EXPECT_SAME(as(x));
    EXPECT_SAME(as(x).narrow(0, 0, 0));
    EXPECT_SAME(as(x).narrow(1, 2, 3));
    EXPECT_SAME(as(x).narrow(-1, -3, 2));
    EXPECT_SAME(as(x).slice(1, 1, 5, 2));
    EXPECT_SAME(as(x).slice(1, -4, {}, 3));
    EXPECT_SAME(as(x).slice(0, {}, 100));
    EXPECT_SAME(as(x).slice(0, 3, 1));
    EXPECT_SAME(as(x).select(1, 5));
    EXPECT_SAME(as(x).select(-1, -6));
    EXPECT_SAME(as(x).transpose(0, -1));
    EXPECT_SAME(as(x).t());
    EXPECT_SAME(as(x).permute({1, 0}));
    for (const std::int64_t d : {-3, -2, -1, 0, 1, 2}) EXPECT_SAME(as(x).unsqueeze(d));
    EXPECT_SAME(as(x).unsqueeze(1).squeeze(1));
    EXPECT_SAME(as(x).unsqueeze(0).unsqueeze(-1).squeeze());
    EXPECT_SAME(as(x).squeeze(0));
    EXPECT_SAME(as(x).unsqueeze(1).expand({-1, 3, -1}));
    EXPECT_SAME(as(x).expand({2, x.size(0), 6}));
    EXPECT_SAME(as(x.narrow(1, 0, 1)).expand_as(as(x)));
    EXPECT_SAME(as(x).diagonal());
    EXPECT_SAME(as(x).t().diagonal());
    EXPECT_SAME(as(x).detach());
    for (const std::int64_t count : {1, 2, 4, 5, 9}) {
      EXPECT_SAME(as(x).chunk(count, 1));
      EXPECT_SAME(as(x).chunk(count));
    }
    EXPECT_SAME(as(x).split_with_sizes({1, 0, 5}, -1));
    EXPECT_SAME(as(x).unbind(1));
    EXPECT_SAME(as(x).unbind());
  }
}

TEST_P(HostViews, OfOtherShapes) {
  for (const at::Tensor& x : random_matrices(GetParam())) {
    EXPECT_SAME(as(x).reshape({x.size(0), 2, 3}));
    EXPECT_SAME(as(x).reshape({x.numel()}));
    EXPECT_SAME(as(x).reshape({3, 2, x.size(0)}));
    EXPECT_SAME(as(x).reshape({1, x.size(0), 1, 6, 1}));
    EXPECT_SAME(as(x).flatten());
    EXPECT_SAME(as(x).unsqueeze(1).flatten(0, 1));
    EXPECT_SAME(as(x).unflatten(1, {2, -1}));
    EXPECT_SAME(as(x).unflatten(-1, {3, 2}));
    EXPECT_SAME(as(x).view({x.size(0), 1, 2, 3}));  // splits one dimension, which every matrix allows
  }
  const at::Tensor x = random_numbers({2, 3, 4, 5}, GetParam()), one = random_numbers({}, GetParam());
  EXPECT_SAME(as(x).view({-1, 5}));
  EXPECT_SAME(as(x).permute({2, -4, 3, 1}));
  EXPECT_SAME(as(x).transpose(1, 3).view({2, 5, 2, 2, 3}));
  EXPECT_SAME(as(x).narrow(1, 1, 2).view({2, -1}));
  EXPECT_SAME(as(x).narrow(1, 1, 2).flatten(1, 2));
  EXPECT_SAME(as(x).transpose(0, 1).flatten(2));
  EXPECT_SAME(as(x).transpose(0, 1).flatten(1, 2));
  EXPECT_SAME(as(one).view({1, 1}));
  EXPECT_SAME(as(one).reshape({-1}));
  EXPECT_SAME(as(one).flatten());
  EXPECT_SAME(as(one).unsqueeze(0));
  EXPECT_SAME(as(one).expand({2, 3}));
  EXPECT_SAME(as(one).squeeze());
  EXPECT_SAME(as(one).contiguous());
}

TEST_P(HostViews, ShareTheirMemory) {
  const at::Tensor x = random_numbers({4, 6}, GetParam());
  EXPECT_SAME([](auto all) {
    all.select(0, 1).fill_(1);
    all.t().slice(0, 1, 6, 3).zero_();
    all.view({2, 12}).narrow(1, 5, 2).fill_(1);
    all.diagonal().copy_(all[3].narrow(0, 0, 4).clone());
    return all;
  }(as(x.clone())));
  EXPECT_TRUE(same(AsOurs()(x).view(ops::kByte), x.view(at::kByte), 0));
  if (x.element_size() != 8) return;
  EXPECT_TRUE(same(AsOurs()(x).view(ops::kInt), x.view(at::kInt), 0));
}

TEST_P(HostViews, AreRefused) {
  const at::Tensor x = random_numbers({4, 6}, GetParam());
  EXPECT_REFUSED(as(x).narrow(1, 5, 2));
  EXPECT_REFUSED(as(x).narrow(1, 0, -1));
  EXPECT_REFUSED(as(x).narrow(2, 0, 1));
  EXPECT_REFUSED(as(x).slice(0, 0, 4, 0));
  EXPECT_REFUSED(as(x).select(0, 4));
  EXPECT_REFUSED(as(x).select(0, -5));
  EXPECT_REFUSED(as(x)[4]);
  EXPECT_REFUSED(as(x).transpose(0, 2));
  EXPECT_REFUSED(as(x).permute({0}));
  EXPECT_REFUSED(as(x).permute({0, 0}));
  EXPECT_REFUSED(as(x).unsqueeze(3));
  EXPECT_REFUSED(as(x).unsqueeze(-4));
  EXPECT_REFUSED(as(x).expand({4, 7}));
  EXPECT_REFUSED(as(x).expand({6}));
  EXPECT_REFUSED(as(x).expand({-1, 4, 6}));
  EXPECT_REFUSED(as(x).chunk(0));
  EXPECT_REFUSED(as(x).split_with_sizes({1, 2}, 1));
  EXPECT_REFUSED(as(x).split_with_sizes({5, 2}, 1));
  EXPECT_REFUSED(as(x).view({5, 5}));
  EXPECT_REFUSED(as(x).view({-1, 5}));
  EXPECT_REFUSED(as(x).view({-1, -1}));
  EXPECT_REFUSED(as(x).view({-4, -6}));
  EXPECT_REFUSED(as(x).t().view({24}));
  EXPECT_REFUSED(as(x).reshape({-24, -1}));
  EXPECT_REFUSED(as(x).flatten(1, 0));
  EXPECT_REFUSED(as(x).unflatten(1, {4, 2}));
  EXPECT_REFUSED(as(x).item());
  EXPECT_ANY_THROW(AsOurs()(x).data<std::int16_t>());
  EXPECT_REFUSED([](auto y) { y.template accessor<std::int16_t, 2>(); }(as(x)));
  EXPECT_REFUSED(as(x).size(2));
}

using HostCopies = OfEachType;
INSTANTIATE_TEST_SUITE_P(, HostCopies, testing::ValuesIn(kSomeTypes), name_of_type);

TEST_P(HostCopies, OfMatrices) {
  for (const at::Tensor& x : random_matrices(GetParam())) {
    const at::Tensor other = random_numbers({2, 6}, GetParam());
    EXPECT_SAME(as(x).contiguous());
    EXPECT_SAME(as(x).clone());
    EXPECT_SAME(as(x).repeat({2, 3}));
    EXPECT_SAME(as(x).repeat({2, 1, 2}));
    EXPECT_SAME(as(x).repeat({0, 2}));
    EXPECT_SAME(as(x).repeat_interleave(3, 0));
    EXPECT_SAME(as(x).repeat_interleave(2, -1));
    EXPECT_SAME(as(x).repeat_interleave(as(places_of({0, 2, 1, 0, 3, 1})), 1));
    for (const std::int64_t by : {0, 1, -3, 30}) {
      EXPECT_SAME(as(x).roll(by));
      EXPECT_SAME(as(x).triu(by));
      EXPECT_SAME(as(x).tril(by));
    }
    EXPECT_SAME(cat(as(x, other)));
    EXPECT_SAME(cat(as(x, x.narrow(1, 2, 0), x.narrow(1, 2, 3)), 1));
    EXPECT_SAME(cat(as(at::empty({0}, x.options()), x, at::empty({0}, x.options())), -1));
    for (const std::int64_t d : {-3, -1, 0, 1, 2}) EXPECT_SAME(stack(as(x, x, x), d));
    EXPECT_SAME(with_margins(as(x), Sizes{1, 2}, 1));
    EXPECT_SAME(with_margins(as(x), Sizes{0, 2, 3, 1}, 0));
    EXPECT_SAME(with_margins(as(x), Sizes{-2, 1}, 1));
    EXPECT_SAME(with_margins(as(x), Sizes{1, -3}));
    EXPECT_SAME(as(x).clone().copy_(as(other[0])));
  }
  const at::Tensor batch = random_numbers({2, 3, 4}, GetParam());
  EXPECT_SAME(as(batch).triu(1));
  EXPECT_SAME(as(batch).tril());
  EXPECT_SAME(repeat_interleave(as(places_of({2, 0, 3}))));
  EXPECT_SAME(stack(as(batch[0][0][0], batch[1][1][1])));
  EXPECT_SAME(stack(as(batch[0], batch[1]), 1));
  EXPECT_REFUSED(cat(as(batch, batch[0])));
  EXPECT_REFUSED(cat(as(batch, batch.narrow(2, 0, 2))));
  EXPECT_REFUSED(cat(as(batch, batch), 3));
  EXPECT_REFUSED(stack(as(batch[0], batch[0].t())));
  EXPECT_REFUSED(with_margins(as(batch), Sizes{-3, -2}));
  EXPECT_REFUSED(as(batch).copy_(as(batch[0].t())));
}

TEST_P(HostCopies, ConcatenationPromotesTypes) {
  for (const ops::ScalarType type : kSomeTypes) {
    const at::Tensor x = random_numbers({2, 3}, GetParam()), y = random_numbers({1, 3}, type);
    EXPECT_SAME(cat(as(x, y)));
    EXPECT_SAME(cat(as(x, at::empty({0}, y.options()))));
    EXPECT_SAME(cat(as(at::empty({0}, y.options()), x)));
    EXPECT_SAME(stack(as(x[0], y[0]), 1));
  }
}

// From every type to every other, for numbers that both can represent.
TEST(HostConversions, OfEveryTypeToEveryOther) {
  using enum ops::ScalarType;
  const std::vector<ops::ScalarType> types = {Byte, Char,  Short,  Int,  Long,
                                              Half, Float, Double, Bool, BFloat16};
  const at::Tensor small = at::tensor({0.0, 1.0, 2.5, 3.0, 0.25, 100.0, 127.0}, at::kDouble),
                   with_signs = at::cat({small, -small}),
                   large = at::tensor({2049.0, 2051.0, 4098.0, -30000.0, 32767.0, 257.0, 259.0}, at::kDouble),
                   larger = at::tensor({65519.0, 65520.0, 1e6, 16777217.0, 2147483647.0, -1e9}, at::kDouble),
                   floats = at::tensor({INFINITY, -INFINITY, NAN, 1e-7f, 6e-8f, 2.9e-8f, 1e-40f, -1e-45f,
                                        0.1f, 65535.0f, 3.39e38f, -3.4e38f},
                                       at::kDouble);
  for (const ops::ScalarType from : types) {
    for (const ops::ScalarType to : types) {
      std::vector<at::Tensor> tried = {small};
      const bool sign = from != Byte && to != Byte;
      if (sign) tried.push_back(with_signs);
      const auto bytes = [](ops::ScalarType type) {
        return ops::is_floating(type) || type == Bool ? 8 : ops::bytes_of(type);
      };
      const std::int64_t least = std::min(bytes(from), bytes(to));
      if (least >= 2) tried.push_back(large);
      if (least >= 4 && from != Half) tried.push_back(larger);
      if (ops::is_floating(from) && (ops::is_floating(to) || to == Bool)) tried.push_back(floats);
      for (const at::Tensor& numbers : tried) {
        const at::Tensor x = numbers.to(torch_type(from));
        EXPECT_SAME(as(x).to(as(to))) << ops::name_of(from) << " to " << ops::name_of(to);
        EXPECT_SAME(as(at::stack({x, x}).t()).to(as(to))) << ops::name_of(from);
      }
    }
  }
}

// For any bits. NaN may become another NaN.
TEST(HostConversions, RoundToTheNearestAndThenToEven) {
  at::manual_seed(3);
  const at::Tensor all = at::arange(-32768, 32768, at::kShort),
                   bits = at::randint(std::numeric_limits<std::int32_t>::min(),
                                      std::numeric_limits<std::int32_t>::max(), {1 << 18}, at::kLong)
                              .to(at::kInt);
  const at::Tensor any_float = bits.view(at::kFloat), any_double = at::randn({1 << 16}, at::kDouble) * 70000;
  for (const ops::ScalarType type : {ops::kHalf, ops::kBFloat16}) {
    const at::Tensor every = all.view(torch_type(type));
    EXPECT_SAME(as(every).to(as(ops::kFloat)));
    EXPECT_SAME(as(every).to(as(ops::kDouble)));
    EXPECT_SAME(as(every).to(as(ops::kFloat)).to(as(type)));
    EXPECT_SAME(as(any_float).to(as(type)));
    EXPECT_SAME(as(any_double).to(as(type)));
    EXPECT_SAME(as(any_double.to(at::kLong)).to(as(type)));
    // Halfway between neighbours, and next to that.
    const at::Tensor middle = every.to(at::kFloat).view(at::kInt) + (type == ops::kHalf ? 0x1000 : 0x8000);
    for (const int beside : {-1, 0, 1}) {
      const at::Tensor x = (middle + beside).view(at::kFloat);
      EXPECT_SAME(as(x).to(as(type)));
    }
    EXPECT_SAME(as(every).index_select(0, as(places_of({5, 1, 40000}))));
    EXPECT_SAME(cat(as(every, every)));
    EXPECT_SAME(as(every).clone().fill_(0.1));
  }
}

using HostPlaces = OfEachType;
INSTANTIATE_TEST_SUITE_P(, HostPlaces, testing::ValuesIn(kSomeTypes), name_of_type);

TEST_P(HostPlaces, AreTaken) {
  const at::Tensor columns = places_of({5, 0, 3, 3}), none = at::empty({0}, at::kLong);
  for (const at::Tensor& x : random_matrices(GetParam())) {
    EXPECT_SAME(as(x).index_select(1, as(columns)));
    EXPECT_SAME(as(x).index_select(0, as(none)));
    EXPECT_SAME(as(x).t().index_select(0, as(columns.to(at::kInt))));
    EXPECT_SAME(as(x).index({as(none)}));
    EXPECT_SAME(as(x).t().index({as(columns)}));
    EXPECT_SAME(as(x).t().index({as(columns - 3)}));
    EXPECT_SAME(as(x).t().index({as(columns.view({2, 2}))}));
    EXPECT_SAME(as(x).index({as(x.to(at::kBool))}));
    EXPECT_SAME(as(x).t().index({as(truths({1, 0, 0, 1, 1, 0}))}));
    EXPECT_SAME(as(x).masked_select(as(x.to(at::kBool))));
    EXPECT_SAME(as(x).masked_select(as(truths({1, 0, 0, 1, 1, 0}))));
    EXPECT_SAME(as(x).nonzero());
    const at::Tensor any = at::randint(0, 6, {x.size(0), 9}, at::kLong);
    EXPECT_SAME(as(x).gather(1, as(any)));
    EXPECT_SAME(as(x).t().gather(0, as(any.t().narrow(0, 1, 2))));
    EXPECT_SAME(as(x).gather(-1, as(any.narrow(0, 0, 0))));
    EXPECT_SAME(embedding(as(x.t()), as(any)));
    EXPECT_SAME(embedding(as(x.t()), as(columns[0])));
    if (x.size(0) == 0) continue;
    EXPECT_SAME(as(x).index({as(places_of({3, 0, -1})), as(places_of({0, -6, 2}))}));
    EXPECT_SAME(as(x).index({as(places_of({3, 0}).unsqueeze(1)), as(columns)}));
    EXPECT_SAME(as(x).index({as(places_of({2})[0]), as(columns)}));
  }
  const at::Tensor batch = random_numbers({3, 2, 4}, GetParam()), one = batch[0][0][0];
  EXPECT_SAME(as(batch).index({as(places_of({2, 0})), as(places_of({1, 1}))}));
  EXPECT_SAME(as(batch).index({as(truths({1, 0, 0, 0, 1, 1}).view({3, 2}))}));
  EXPECT_SAME(as(batch).index_select(1, as(places_of({1, 0, 1}))));
  EXPECT_SAME(as(one.expand({1, 3})).nonzero());  // has a stride of 0
  EXPECT_SAME(as(one).masked_select(as(at::ones({}, at::kBool))));
  if (!ops::is_floating(GetParam())) {
    EXPECT_SAME(std::get<0>(unique(as(batch), true)));
  }
}

TEST_P(HostPlaces, AreWritten) {
  const at::Tensor columns = places_of({5, 0, 3}), twice = places_of({1, 1, 4});
  for (const at::Tensor& x : random_matrices(GetParam())) {
    const at::Tensor values = random_numbers({x.size(0), 3}, GetParam()),
                     one = random_numbers({}, GetParam());
    EXPECT_SAME(as(x).index_copy(1, as(columns), as(values)));
    EXPECT_SAME(as(x).t().index_copy(0, as(columns), as(values.t())));
    EXPECT_SAME(as(x).index_fill(1, as(columns), 1));
    EXPECT_SAME(as(x).index_fill(-1, as(twice), true));
    EXPECT_CLOSE(as(x).index_add(1, as(twice), as(values)));
    EXPECT_SAME(as(x.t()).index_put({as(columns)}, as(values.t())));
    EXPECT_SAME(as(x.t()).index_put({as(columns - 6)}, as(one)));
    EXPECT_SAME(as(x).index_put({as(x.to(at::kBool))}, as(one)));
    EXPECT_SAME(as(x).clone().scatter_(1, as(columns.expand_as(values)), as(values)));
    EXPECT_SAME(as(x).t().clone().scatter_(0, as(columns.narrow(0, 0, 2).unsqueeze(1).expand({2, x.size(0)})),
                                           as(values.t())));
    EXPECT_SAME(as(x).masked_fill(as(x.to(at::kBool)), 1));
    EXPECT_SAME(as(x).masked_fill(as(truths({1, 0, 0, 1, 1, 0})), 0));
    EXPECT_SAME(as(x).masked_fill(as(at::ones({}, at::kBool)), 1));
    if (GetParam() != ops::kBool) {
      EXPECT_SAME(as(x).scatter_reduce(1, as(twice.expand_as(values)), as(values), "amax"));
    }
    if (x.size(0) == 0) continue;
    EXPECT_SAME(
        as(x).index_put({as(places_of({3, -4})), as(places_of({0, 2}))}, as(values[0].narrow(0, 0, 2))));
  }
  const at::Tensor batch = random_numbers({3, 2, 4}, GetParam()), row = random_numbers({4}, GetParam());
  EXPECT_SAME(as(batch).index_put({as(places_of({2, 0})), as(places_of({1, 0}))}, as(row)));
  EXPECT_SAME(as(batch).index_put({as(truths({1, 0, 1}))}, as(row)));
  EXPECT_SAME(as(batch).index_put({as(truths({0, 0, 0}))}, as(row)));
  EXPECT_SAME(as(batch).index_copy(1, as(places_of({1})), as(batch.narrow(1, 0, 1))));
}

TEST_P(HostPlaces, AreRefused) {
  const at::Tensor x = random_numbers({4, 6}, GetParam()), values = random_numbers({4, 2}, GetParam()),
                   high = places_of({0, 6}), low = places_of({0, -1}), good = places_of({0, 1});
  for (const at::Tensor& bad : {high, low, good.to(at::kFloat)}) {
    EXPECT_REFUSED(as(x).index_select(1, as(bad)));
    EXPECT_REFUSED(as(x).gather(1, as(bad.expand({4, 2}))));
    EXPECT_REFUSED(as(x).clone().scatter_(1, as(bad.expand({4, 2})), as(values)));
    EXPECT_REFUSED(embedding(as(x), as(bad * 4)));
  }
  EXPECT_REFUSED(as(x).index({as(high)}));
  EXPECT_REFUSED(as(x).index({as(low - 4)}));
  EXPECT_REFUSED(as(x).index({as(good), as(good), as(good)}));
  EXPECT_REFUSED(as(x).index({as(good), as(places_of({0, 1, 2}))}));
  EXPECT_REFUSED(as(x).index({as(at::ones({3}, at::kBool))}));
  EXPECT_REFUSED(as(x).index({as(at::ones({5, 6}, at::kBool))}));
  EXPECT_REFUSED(as(x).index_copy(1, as(high), as(values)));
  EXPECT_REFUSED(as(x).index_copy(1, as(places_of({0})), as(values)));
  EXPECT_REFUSED(as(x).index_add(1, as(places_of({0, 1, 2})), as(values)));
  EXPECT_REFUSED(as(x).index_fill(1, as(high), 1));
  EXPECT_REFUSED(as(x).index_put({as(good)}, as(values)));
  EXPECT_REFUSED(as(x).gather(1, as(good)));
  EXPECT_REFUSED(as(x).gather(1, as(good.expand({5, 2}))));
  EXPECT_REFUSED(as(x).clone().scatter_(1, as(at::zeros({4, 3}, at::kLong)), as(values)));
  EXPECT_REFUSED(as(x).masked_select(as(at::ones({5}, at::kBool))));
}

}  // namespace
}  // namespace attend
