#include "generation/decoding/foreign_draft.h"

#include <algorithm>

namespace attend {
namespace {

// Tokens cannot be removed from a cache, and the last tokens of a text may change when it continues: this
// many are read again each time.
constexpr std::size_t kUnsure = 8;

std::vector<std::int64_t> ids_of(const Tokenizer& tokenizer, const std::string& text, bool special_tokens) {
  const auto ids = tokenizer.encode(text, {.special_tokens = special_tokens, .with_details = false}).ids;
  return {ids.begin(), ids.end()};
}

std::string text_of(const Tokenizer& tokenizer, std::span<const std::int64_t> ids) {
  return tokenizer.decode(std::vector<TokenId>(ids.begin(), ids.end()), /*skip_special_tokens=*/true);
}

// Removes incomplete characters at the end.
void drop_broken_end(std::string& text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  while (text.ends_with(kReplacement)) text.resize(text.size() - kReplacement.size());
}

}  // namespace

ForeignDraft::ForeignDraft(std::int64_t max, PagedDecoder& decoder, const GenerationConfig& config,
                           const TokenizerPair& own, const TokenizerPair& foreign, const Prompt& prompt)
    : DraftSource(max), decoder_(&decoder), config_(&config), own_(&own), foreign_(&foreign) {
  if (decoder.has_encoder()) {
    prompt_.ids = ids_of(*foreign.source, text_of(*own.source, prompt.ids), true);
    decoder.check(prompt_);
  }
  begin();
}

ForeignDraft::~ForeignDraft() {
  decoder_->release(sequence_);
}

void ForeignDraft::begin() {
  const Prompt* prompts[] = {&prompt_};
  sequence_ = decoder_->add(prompts)[0];
  read_.clear();
}

std::vector<std::int64_t> ForeignDraft::propose(std::span<const std::int64_t> text, std::size_t count) {
  const std::string known = text_of(*own_->target, decoder_->has_encoder() ? text.subspan(1) : text);
  Ids ids = ids_of(*foreign_->target, known, false);
  if (decoder_->has_encoder()) ids.insert(ids.begin(), start_token(*config_));
  const auto room = decoder_->room(static_cast<std::int64_t>(ids.size())) - 1;
  count = std::min(count, static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
  if (ids.empty() || count == 0) return {};

  const std::string before = text_of(*foreign_->target, ids);
  const Ids more = continuation(ids, count);
  ids.insert(ids.end(), more.begin(), more.end());
  std::string after = text_of(*foreign_->target, ids);
  drop_broken_end(after);
  if (!after.starts_with(before)) return {};

  const Ids now = ids_of(*own_->target, known, false),
            then = ids_of(*own_->target, known + after.substr(before.size()), false);
  if (std::ranges::mismatch(now, then).in1 != now.end()) return {};  // the text's own tokens would differ
  return {then.begin() + std::ssize(now),
          then.begin() + std::ssize(now) +
              static_cast<std::ptrdiff_t>(std::min(count, then.size() - now.size()))};
}

std::vector<std::int64_t> ForeignDraft::continuation(const Ids& ids, std::size_t count) {
  if (read_.size() >= ids.size() || std::ranges::mismatch(read_, ids).in1 != read_.end()) {
    decoder_->release(sequence_);
    begin();
  }
  const std::span<const std::int64_t> unread = std::span(ids).subspan(read_.size());
  const std::size_t sure = unread.size() - std::min(kUnsure, unread.size());
  if (sure > 0) {
    likeliest(*decoder_, sequence_, unread.first(sure));
    read_.insert(read_.end(), unread.begin(), unread.begin() + static_cast<std::ptrdiff_t>(sure));
  }
  const Decoder::Sequence branch = decoder_->fork(sequence_);
  Ids more = {likeliest(*decoder_, branch, unread.subspan(sure))};
  while (more.size() < count && !is_eos(*config_, more.back()))
    more.push_back(likeliest(*decoder_, branch, {&more.back(), 1}));
  decoder_->release(branch);
  return more;
}

}  // namespace attend
