#include "nn/linear/adapters.h"

#include "nn/linear/linear.h"
#include "nn/pass/dropout.h"

#include <algorithm>

namespace attend {
namespace {

// y[:, first ...] += scale * (x A^T) B^T, in place; returns scale * x A^T [T, r].
Tensor add_low_rank(const Tensor& y, const Tensor& x, const Tensor& a, const Tensor& b, double scale,
                    std::int64_t first) {
  const Tensor narrow = matrix_product(x, a.t()).mul_(scale);
  matrix_product(y.narrow(1, first, b.size(0)), narrow, b.t(), /*add=*/true);
  return narrow;
}

// The same with its gradient rule, for which only x A^T is stored in addition to x.
void learn_low_rank(const Tensor& y, const Tensor& x, const Tensor& a, const Tensor& b, double scale,
                    std::int64_t first) {
  const auto kept = std::make_shared<Tensor>();  // scale * x A^T
  const auto rule = [&]() -> ops::Rule {
    return [kept, scale, first, input = ops::Saved(x), down = ops::Saved(a), up = ops::Saved(b),
            of_x = needs_gradient(x), of_a = needs_gradient(a), of_b = needs_gradient(b),
            bfloat16 = Bfloat16Products::on()](const Tensor& gradient) {
      const Bfloat16Products rounded(bfloat16);
      const Tensor dy = gradient.contiguous().narrow(1, first, up().size(0));  // [T, count]
      const Tensor narrow = matrix_product(dy, up()).mul_(scale);              // [T, r]
      Tensor dx, da, db;
      if (of_x) dx = matrix_product(narrow, down());
      if (of_a) da = matrix_product(narrow.t(), input());
      if (of_b) db = matrix_product(dy.t(), *kept);
      return std::vector<Tensor>{gradient, dx, da, db};
    };
  };
  ops::in_place(
      y, [&] { *kept = add_low_rank(y, x, a, b, scale, first); }, rule, x, a, b);
}

// Adds `more` to the columns of y from `first` on, in place; returns y.
Tensor add_columns(const Tensor& y, const Tensor& more, std::int64_t first) {
  if (first == 0 && more.size(-1) == y.size(1)) return y.add_(more);
  y.narrow(1, first, more.size(-1)).add_(more);
  return y;
}

// The adapter's rows of W; `weight` holds those from row `first` on.
Tensor rows_of(const Tensor& weight, const MatrixAdapter& m, std::int64_t first) {
  return weight.defined() ? weight.narrow(0, m.first - first, m.count) : weight;
}

Tensor add_dora(const Tensor& y, const Tensor& x, const MatrixAdapter& m, const Tensor& weight,
                const Tensor& bias, Pass& pass, std::int64_t at) {
  const Tensor rows = rows_of(weight, m, m.first - at), input = dropout(x, m.dropout, pass);
  Tensor plain;  // x W^T for the adapter's rows, after dropout
  if (pass.rate(m.dropout) > 0)
    plain = linear(input, rows, {}, nullptr);
  else
    plain = y.narrow(1, at, m.count).clone();
  if (pass.rate(m.dropout) == 0 && bias.defined()) plain = plain - rows_of(bias, m, m.first - at);
  Tensor low = linear(linear(input, m.a, {}, nullptr), m.b, m.bias, nullptr);
  const Tensor factor = m.magnitude / m.lengths(rows);
  return add_columns(y, ((factor - 1) * plain + factor * low * m.scale) * m.share, at);
}

// Whether the input factors apply to all rows of the matrix.
bool scales_whole_input(const MatrixAdapter& m, const Tensor& weight, std::int64_t first) {
  return m.input_factors.defined() && m.first == first && m.count == weight.size(0);
}

// Whether the adapter reads the matrix itself, and not only its products.
bool reads_weight(const MatrixAdapter& m, const Tensor& weight, std::int64_t first) {
  return (m.magnitude.defined() && !m.knows_lengths()) ||
         (m.input_factors.defined() && !scales_whole_input(m, weight, first));
}

// x times the factors of adapters that scale the whole input, so that no product is computed twice.
Tensor scaled_input(const Tensor& x, std::span<const MatrixAdapter* const> adapters, const Tensor& weight,
                    std::int64_t first) {
  Tensor input = x;
  for (const MatrixAdapter* m : adapters)
    if (scales_whole_input(*m, weight, first))
      input = input * ((m->input_factors.flatten() - 1) * m->share + 1);
  return input;
}

// y [n, out] = scaled_input(x) W^T + b, plus the rest of the adapter.
Tensor adapt(Tensor y, const Tensor& x, const MatrixAdapter& m, const Tensor& weight, const Tensor& bias,
             std::int64_t first, Pass& pass) {
  const std::int64_t at = m.first - first;
  if (m.input_factors.defined() && !scales_whole_input(m, weight, first)) {
    const Tensor others = linear(x * (m.input_factors.flatten() - 1), rows_of(weight, m, first), {}, nullptr);
    y = add_columns(y, others * m.share, at);
  }
  if (m.magnitude.defined()) return add_dora(y, x, m, weight, bias, pass, at);
  if (m.a.defined()) {
    const Tensor input = dropout(x, m.dropout, pass).contiguous();
    learn_low_rank(y, input, m.a, m.b, m.scale * m.share, at);
    if (m.bias.defined()) y = add_columns(y, m.bias * (m.scale * m.share), at);
  }
  if (m.result_factors.defined()) {
    const Tensor factors = (m.result_factors.flatten() - 1) * m.share;
    y = add_columns(y, y.narrow(1, at, m.count).clone() * factors, at);
  }
  return y;
}

Tensor adapt(Tensor y, const Tensor& x, std::span<const MatrixAdapter* const> adapters, const Tensor& weight,
             const Tensor& bias, std::int64_t first, Pass& pass) {
  for (const MatrixAdapter* m : adapters) y = adapt(y, x, *m, weight, bias, first, pass);
  return y;
}

}  // namespace

Tensor MatrixAdapter::lengths(const Tensor& rows) const {
  const bool trained = a.needs_gradient() || b.needs_gradient();
  const std::lock_guard lock(known_->mutex);
  if (!trained && known_->lengths.defined()) return known_->lengths;
  Unrecorded no_grad;
  const Tensor found = ops::vector_norm(ops::addmm(rows, b, a, /*beta=*/1, /*alpha=*/scale), 2, {1});
  if (!trained) known_->lengths = found;
  return found;
}

bool MatrixAdapter::knows_lengths() const {
  const std::lock_guard lock(known_->mutex);
  return known_->lengths.defined();
}

Tensor adapted_linear(const Tensor& x, const AdaptedRows& rows, Pass& pass, Activation activation,
                      const Tensor& residual) {
  const auto& [given, bias, packed, all, first] = rows;
  Tensor weight = given;
  std::vector<const MatrixAdapter*> here;
  for (const MatrixAdapter& m : all) {
    if (m.first + m.count <= first || m.first >= first + weight.size(0)) continue;
    if (m.first < first || m.first + m.count > first + weight.size(0))
      fail("an adapter's rows {} to {} are only partly in the matrix", m.first, m.first + m.count - 1);
    if (pass.adapters && pass.adapters->only && *pass.adapters->only != m.adapter) continue;
    here.push_back(&m);
  }
  if (here.empty()) return linear(x, weight, bias, packed, activation, residual);
  if (packed != nullptr && packed->replacement() != nullptr &&
      std::ranges::any_of(here, [&](const auto* m) { return reads_weight(*m, given, first); }))
    weight = packed->replacement()->dequantized();
  Tensor y;
  if (const auto& choice = pass.adapters; choice && !choice->only) {
    if (choice->rows != x.size(0))
      fail("adapters were chosen for {} rows, but a matrix gets {}", choice->rows, x.size(0));
    y = linear(x, weight, bias, packed);
    for (const auto& [adapter, begin, count] : choice->runs) {
      std::vector<const MatrixAdapter*> its;
      for (const MatrixAdapter* m : here)
        if (m->adapter == adapter) its.push_back(m);
      if (its.empty()) continue;
      const Tensor theirs = x.narrow(0, begin, count), input = scaled_input(theirs, its, weight, first);
      // The same arithmetic as for one adapter alone, so that the bits are the same.
      const Tensor plain = y.narrow(0, begin, count);
      if (!input.is_same(theirs)) plain.copy_(linear(input, weight, bias, packed));
      adapt(plain, theirs, its, weight, bias, first, pass);
    }
  } else {
    y = adapt(linear(scaled_input(x, here, weight, first), weight, bias, packed), x, here, weight, bias,
              first, pass);
  }
  y = activate(y, activation);
  return residual.defined() ? y + residual : y;
}

std::vector<Tensor> adapter_tensors(const Module& module) {
  std::vector<Tensor> all;
  for (const auto& part : module.modules())
    if (const auto* matrix = part->as<LinearImpl>(); matrix != nullptr)
      for (const MatrixAdapter& m : matrix->adapters)
        for (const Tensor& tensor : {m.a, m.b, m.bias, m.magnitude, m.result_factors, m.input_factors})
          if (tensor.defined()) all.push_back(tensor);
  return all;
}

std::shared_ptr<const AdapterChoice> choose_adapters(
    const std::vector<std::optional<std::int64_t>>& adapters) {
  const bool any = std::ranges::any_of(adapters, [](const auto& adapter) { return adapter.has_value(); });
  if (!any) return nullptr;
  if (!std::ranges::all_of(adapters, [](const auto& adapter) { return adapter.has_value(); }))
    fail("expected an adapter (or -1 for none) either for every text or for no text");
  auto choice = std::make_shared<AdapterChoice>();
  choice->rows = std::ssize(adapters);
  std::vector<AdapterChoice::Run>& runs = choice->runs;
  for (std::int64_t i = 0; i < choice->rows; ++i) {
    const std::int64_t adapter = *adapters[static_cast<std::size_t>(i)];
    if (!runs.empty() && runs.back().adapter == adapter)
      ++runs.back().count;
    else
      runs.push_back({adapter, i, 1});
  }
  if (runs.size() == 1) choice->only = runs.front().adapter;
  return choice;
}

namespace {

Tensor adapt_rows(const Tensor& y, const Tensor& ids, const TableAdapter& t, const Tensor& table,
                  std::int64_t padding_id) {
  const Tensor low = linear(ops::embedding(t.a.t(), ids, padding_id), t.b, {}, nullptr) * (t.scale * t.share);
  if (!t.magnitude.defined()) return y + low;
  Tensor lengths;
  {
    Unrecorded no_grad;
    lengths = ops::vector_norm(table + t.scale * matrix_product(t.b, t.a).t(), 2, {0});
  }
  const Tensor factor = t.magnitude / lengths;
  return y + (factor - 1) * t.share * y + factor * low;
}

}  // namespace

Tensor adapted_rows(const Tensor& given, const PackedMatrix* packed, const Tensor& ids,
                    std::int64_t padding_id, std::span<const TableAdapter> adapters, const Pass& pass) {
  Tensor y = packed ? packed->rows(ids) : ops::embedding(given, ids, padding_id), table = given;
  if (packed && std::ranges::any_of(adapters, [](const auto& t) { return t.magnitude.defined(); }))
    table = packed->dequantized();
  for (const TableAdapter& t : adapters) {
    const auto& choice = pass.adapters;
    if (!choice || (choice->only && *choice->only == t.adapter)) {
      y = adapt_rows(y, ids, t, table, padding_id);
    } else if (!choice->only) {
      if (choice->rows != ids.size(0))
        fail("adapters were chosen for {} rows, but a table gets {}", choice->rows, ids.size(0));
      for (const auto& [adapter, begin, count] : choice->runs)
        if (adapter == t.adapter) {
          const Tensor rows = y.narrow(0, begin, count);
          rows.copy_(adapt_rows(rows, ids.narrow(0, begin, count), t, table, padding_id));
        }
    }
  }
  return y;
}

}  // namespace attend
