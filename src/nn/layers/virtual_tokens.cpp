#include "nn/layers/virtual_tokens.h"

#include "nn/linear/adapters.h"

#include <numeric>

namespace attend {

Tensor KeyPrefix::of_layer(std::int64_t layer) const {
  const std::int64_t w = numbers.size(1) / places, key = stride * layer % places;
  return numbers.narrow(1, key * w, 2 * w);
}

PassPrefixes::PassPrefixes(const std::vector<KeyPrefix>& prefixes, const Offsets& offsets,
                           const AdapterChoice* choice)
    : prefixes_(prefixes), of_(static_cast<std::size_t>(offsets.count())) {
  bool any = false;
  for (std::size_t i = 0; i < prefixes.size(); ++i)
    for (std::int64_t b = 0; b < offsets.count(); ++b)
      if (choice == nullptr || choice->of(offsets.begin(b), offsets.total()) == prefixes[i].adapter) {
        of_[static_cast<std::size_t>(b)].push_back(i);
        any = true;
      }
  if (!any) of_.clear();
}

std::vector<std::int64_t> PassPrefixes::lengths() const {
  std::vector<std::int64_t> all;
  for (const auto& own : of_) {
    all.push_back(0);
    for (const std::size_t i : own) all.back() += prefixes_[i].length();
  }
  return all;
}

std::vector<Tensor> PassPrefixes::of_layer(std::int64_t layer) const {
  std::vector<Tensor> rows, all;
  for (const KeyPrefix& prefix : prefixes_) rows.push_back(prefix.of_layer(layer));
  for (const auto& own : of_) {
    std::vector<Tensor> parts;
    for (const std::size_t i : own) parts.push_back(rows[i]);
    all.push_back(parts.size() == 1 ? parts.front()
                  : parts.empty()   ? rows.front().narrow(0, 0, 0)
                                    : ops::cat(parts));
  }
  return all;
}

std::vector<std::int64_t> prompt_ids(const std::vector<TokenPrompt>& prompts, std::int64_t vocabulary,
                                     std::optional<std::int64_t> adapter) {
  std::vector<std::int64_t> ids;
  std::int64_t next = vocabulary;
  for (const TokenPrompt& prompt : prompts)
    for (std::int64_t i = 0; i < prompt.count; ++i, ++next)
      if (!adapter || prompt.adapter == *adapter) ids.push_back(next);
  return ids;
}

std::optional<PromptedBatch> prompted(const std::vector<TokenPrompt>& prompts, std::int64_t vocabulary,
                                      const TokenBatch& given,
                                      const std::shared_ptr<const AdapterChoice>& adapters) {
  if (prompts.empty() || given.prompted) return {};
  std::vector<std::int64_t> lengths, ids, positions, rows;
  std::vector<std::optional<std::int64_t>> row_adapters;
  for (std::int64_t b = 0; b < given.offsets.count(); ++b) {
    const std::int64_t begin = given.offsets.begin(b), length = given.offsets.length(b);
    std::optional<std::int64_t> adapter;
    if (adapters) adapter = adapters->of(begin, given.offsets.total());
    const std::vector<std::int64_t> own = prompt_ids(prompts, vocabulary, adapter);
    const auto count = static_cast<std::int64_t>(own.size());
    ids.insert(ids.end(), own.begin(), own.end());
    for (std::int64_t i = 0; i < count; ++i) positions.push_back(i);
    rows.resize(rows.size() + static_cast<std::size_t>(length));
    std::iota(rows.end() - length, rows.end(), static_cast<std::int64_t>(ids.size()));
    ids.resize(ids.size() + static_cast<std::size_t>(length));
    positions.resize(ids.size(), count);
    lengths.push_back(count + length);
    row_adapters.resize(ids.size(), adapter);
  }
  if (ids.size() == rows.size()) return {};
  const auto tensor = [&](const std::vector<std::int64_t>& numbers) { return ops::tensor(numbers, kLong); };
  PromptedBatch result{given, choose_adapters(row_adapters), tensor(rows)};
  TokenBatch& batch = result.batch;
  batch.prompted = true;
  batch.offsets = Offsets(lengths);
  batch.ids = tensor(ids).index_copy(0, result.rows, given.ids);
  batch.positions = tensor(positions).index_add(0, result.rows, given.positions);
  for (Tensor* more : {&batch.types, &batch.languages, &batch.tasks})
    if (more->defined()) *more = ops::zeros_like(batch.ids).index_copy(0, result.rows, *more);
  return result;
}

}  // namespace attend
