#include "tasks/text_batches.h"

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

std::vector<std::vector<std::size_t>> batches_by_length(
    const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t batch_tokens) {
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sequences[a].size() > sequences[b].size(); });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t tokens = 0;
  for (std::size_t i : order) {
    const auto more = static_cast<std::int64_t>(sequences[i].size());
    if (batches.empty() || tokens + more > batch_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += more;
  }
  return batches;
}

}  // namespace attend
