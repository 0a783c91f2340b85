#include "objectives/shared/token_ids.h"

#include "nn/losses/loss.h"

namespace attend {

std::vector<TokenIds> encode(const Tokenizer& tokenizer, std::span<const std::string> texts,
                             EncodeOptions options) {
  options.with_details = false;
  std::vector<TokenIds> all;
  for (const Encoding& encoding : tokenizer.encode_batch(texts, options))
    all.emplace_back(encoding.ids.begin(), encoding.ids.end());
  return all;
}

Tensor joined(std::span<const TokenIds> parts) {
  TokenIds all;
  for (const TokenIds& part : parts) all.insert(all.end(), part.begin(), part.end());
  return ops::tensor(all, kLong);
}

std::int64_t count_labels(const Tensor& labels) {
  return labels.ne(kIgnoredLabel).sum().item<std::int64_t>();
}

}  // namespace attend
