#include "generation/decoding/draft_source.h"

#include "generation/scores/selection.h"

#include <algorithm>

namespace attend {

std::vector<std::int64_t> PromptLookup::propose(std::span<const std::int64_t> text, std::size_t count) {
  for (std::size_t size = ngram_; size > 0; --size) {
    if (size >= text.size()) continue;
    const auto found = std::ranges::search(text.first(text.size() - 1), text.last(size));
    if (found.empty()) continue;
    const auto next = static_cast<std::size_t>(found.end() - text.begin());
    const auto guess = text.subspan(next, std::min(count, text.size() - next));
    return {guess.begin(), guess.end()};
  }
  return {};
}

DraftModel::DraftModel(std::int64_t max, PagedDecoder& decoder, const Prompt& prompt)
    : DraftSource(max), decoder_(&decoder) {
  const Prompt* prompts[] = {&prompt};
  sequence_ = decoder.add(prompts)[0];
}

DraftModel::~DraftModel() {
  decoder_->release(sequence_);
}

std::vector<std::int64_t> DraftModel::propose(std::span<const std::int64_t> text, std::size_t count) {
  const auto room = decoder_->room(static_cast<std::int64_t>(text.size())) - 1;
  count = std::min(count, static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
  if (count == 0) return {};
  std::vector<std::int64_t> guesses;
  const auto read = static_cast<std::size_t>(decoder_->cache().length(sequence_));
  guesses.push_back(likeliest(*decoder_, sequence_, text.subspan(read)));
  if (count == 1) return guesses;
  const Decoder::Sequence branch = decoder_->fork(sequence_);  // tokens cannot be removed from a cache
  while (guesses.size() < count) guesses.push_back(likeliest(*decoder_, branch, {&guesses.back(), 1}));
  decoder_->release(branch);
  return guesses;
}

std::int64_t likeliest(Decoder& decoder, Decoder::Sequence sequence, std::span<const std::int64_t> tokens) {
  const Decoder::Feed feeds[] = {{sequence, tokens}};
  const Tensor scores = decoder.step(feeds);  // [1, V]
  return arg_max({scores.const_data<float>(), static_cast<std::size_t>(scores.size(1))});
}

}  // namespace attend
