#include "generation/decoding/guided_decoder.h"

namespace attend {

void GuidedDecoder::guide(Sequence sequence, double scale, std::vector<std::int64_t> negative_prompt,
                          std::optional<std::int64_t> adapter) {
  Prompt prompt;
  prompt.ids = std::move(negative_prompt);
  prompt.adapter = adapter;
  const std::vector<const Prompt*> prompts = {&prompt};
  shadows_[sequence] = {decoder_->add(prompts).front(), scale, prompt.ids};
}

Decoder::Sequence GuidedDecoder::fork(Sequence sequence) {
  const Sequence copy = decoder_->fork(sequence);
  if (const auto found = shadows_.find(sequence); found != shadows_.end()) {
    Shadow shadow = found->second;
    shadow.sequence = decoder_->fork(shadow.sequence);
    shadows_[copy] = std::move(shadow);
  }
  return copy;
}

void GuidedDecoder::release(Sequence sequence) {
  if (const auto shadow = shadows_.extract(sequence)) decoder_->release(shadow.mapped().sequence);
  decoder_->release(sequence);
}

Decoder::Feed GuidedDecoder::feed_of(const Shadow& shadow, const Feed& feed) {
  const auto tokens = shadow.unread.empty() ? feed.tokens : std::span<const std::int64_t>(shadow.unread);
  return {shadow.sequence, tokens, feed.scored, nullptr, true};
}

std::int64_t GuidedDecoder::pages_for(const Feed& feed) const {
  const auto found = shadows_.find(feed.sequence);
  const std::int64_t pages = decoder_->pages_for(feed);
  return found == shadows_.end() ? pages : pages + decoder_->pages_for(feed_of(found->second, feed));
}

Tensor GuidedDecoder::step(std::span<const Feed> feeds) {
  struct Guided {
    Shadow* shadow;
    std::int64_t first, rows;  // of the scores
  };
  std::vector<Feed> all(feeds.begin(), feeds.end());
  std::vector<Guided> guided;
  std::int64_t rows = 0;
  for (const Feed& feed : feeds) {
    const auto scored = static_cast<std::int64_t>(feed.scored);
    if (const auto found = shadows_.find(feed.sequence); found != shadows_.end()) {
      all.push_back(feed_of(found->second, feed));
      guided.push_back({&found->second, rows, scored});
    }
    rows += scored;
  }
  if (guided.empty()) return decoder_->step(feeds);

  const Tensor scores = decoder_->step(all);  // [rows, then the shadows' rows; V]
  std::int64_t shadow_row = rows;
  for (const auto& [shadow, first, count] : guided) {
    const Tensor given = scores.narrow(0, first, count);
    const Tensor negative = ops::log_softmax(scores.narrow(0, shadow_row, count), 1);
    given.copy_(shadow->scale * (ops::log_softmax(given, 1) - negative) + negative);
    shadow->unread.clear();
    shadow_row += count;
  }
  return scores.narrow(0, 0, rows);
}

}  // namespace attend
