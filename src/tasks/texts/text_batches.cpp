#include "tasks/texts/text_batches.h"

#include <algorithm>
#include <numeric>

namespace attend {

std::vector<std::vector<std::int64_t>> encode_texts(const Tokenizer& tokenizer,
                                                    const std::vector<std::string>& texts) {
  std::vector<std::vector<std::int64_t>> all;
  for (const Encoding& encoding : tokenizer.encode_batch(texts, {.with_details = false}))
    all.emplace_back(encoding.ids.begin(), encoding.ids.end());
  return all;
}

std::vector<std::vector<std::size_t>> batches_by_length(const std::vector<std::int64_t>& lengths,
                                                        std::int64_t batch_tokens) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t tokens = 0;
  for (std::size_t i : order) {
    if (batches.empty() || tokens + lengths[i] > batch_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += lengths[i];
  }
  return batches;
}

std::vector<std::vector<std::size_t>> batches_by_length(
    const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t batch_tokens) {
  std::vector<std::int64_t> lengths;
  for (const auto& sequence : sequences) lengths.push_back(static_cast<std::int64_t>(sequence.size()));
  return batches_by_length(lengths, batch_tokens);
}

}  // namespace attend
