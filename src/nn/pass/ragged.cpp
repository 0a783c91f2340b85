#include "nn/pass/ragged.h"

#include <algorithm>

namespace attend {

Offsets::Offsets(const std::vector<std::int64_t>& lengths) {
  auto data = std::make_shared<Data>();
  data->lengths = lengths;
  data->offsets.reserve(lengths.size() + 1);
  data->offsets.push_back(0);
  for (std::int64_t length : lengths) {
    data->offsets.push_back(data->offsets.back() + length);
    data->longest = std::max(data->longest, length);
  }
  data_ = std::move(data);
}

Tensor Offsets::first_rows() const {
  return ops::tensor(std::vector<std::int64_t>(offsets().begin(), offsets().end() - 1), kLong);
}

Tensor Offsets::last_rows() const {
  return ops::tensor(std::vector<std::int64_t>(offsets().begin() + 1, offsets().end()), kLong) - 1;
}

Tensor KeyMask::rows(const Offsets& offsets, ScalarType type) const {
  Tensor rows = ops::zeros({offsets.total(), 1}, type);
  for (std::int64_t b = 0; b < offsets.count(); ++b)
    rows.narrow(0, offsets.begin(b) + first[static_cast<std::size_t>(b)], count[static_cast<std::size_t>(b)])
        .fill_(1);
  return rows;
}

TokenBatch TokenBatch::from(const std::vector<std::vector<std::int64_t>>& sequences,
                            const std::vector<std::int64_t>& first_positions) {
  std::vector<std::int64_t> lengths, ids, positions;
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const std::int64_t first = first_positions.empty() ? 0 : first_positions[b];
    lengths.push_back(static_cast<std::int64_t>(sequences[b].size()));
    for (std::size_t i = 0; i < sequences[b].size(); ++i) {
      ids.push_back(sequences[b][i]);
      positions.push_back(first + static_cast<std::int64_t>(i));
    }
  }
  TokenBatch batch;
  batch.ids = ops::tensor(ids, kLong);
  batch.positions = ops::tensor(positions, kLong);
  batch.offsets = Offsets(lengths);
  return batch;
}

TokenBatch TokenBatch::texts(std::int64_t first, std::int64_t count) const {
  TokenBatch some = *this;
  const auto& lengths = offsets.lengths();
  some.offsets = Offsets({lengths.begin() + first, lengths.begin() + first + count});
  for (Tensor* each :
       {&some.ids, &some.positions, &some.types, &some.languages, &some.tasks, &some.predicted})
    if (each->defined()) *each = each->narrow(0, offsets.begin(first), some.offsets.total());
  return some;
}

}  // namespace attend
