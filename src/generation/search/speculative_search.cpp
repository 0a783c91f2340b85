#include "generation/search/speculative_search.h"

#include "generation/scores/selection.h"

#include <algorithm>
#include <utility>

namespace attend {

SpeculativeSearch::SpeculativeSearch(Request request)
    : Search(std::move(request)),
      text_(request_.tokens),
      mirostat_(config().mirostat),
      unread_(request_.first.begin(), request_.first.end()),
      feed_(unread_) {}

void SpeculativeSearch::feed(std::vector<Decoder::Feed>& feeds) const {
  feeds.push_back({branch_.value_or(rows_.front().sequence), feed_, guesses_.size() + 1});
}

void SpeculativeSearch::choose(float* scores, std::int64_t vocabulary) {
  bool goes_on = true;
  for (chosen_ = 0; goes_on; ++chosen_, ++steps_) {
    const std::span<float> row(scores + static_cast<std::int64_t>(chosen_) * vocabulary,
                               static_cast<std::size_t>(vocabulary));
    process(row, text_, request_.number);
    mirostat_.truncate(row);
    const std::int64_t token = pick(row, request_.number);
    mirostat_.learn(row, token);
    note(row, token, made_);
    text_.push_back(token);
    over_ = ends(token, steps_ + 1, [this] { return std::span(std::as_const(text_)); });
    goes_on = !over_ && chosen_ < guesses_.size() && guesses_[chosen_] == token;
  }
}

void SpeculativeSearch::advance(Decoder& decoder) {
  const std::span<const std::int64_t> chosen = std::span(text_).last(chosen_);
  if (request_.on_token)
    for (std::size_t i = made_.ids.size() - chosen_; i < made_.ids.size(); ++i)
      request_.on_token(0, Search::chosen(made_, i));

  Decoder::Sequence& kept = rows_.front().sequence;
  const bool all_right = chosen_ == guesses_.size() + 1;
  if (branch_) {
    decoder.release(all_right ? kept : *branch_);
    if (all_right) kept = *branch_;
    branch_.reset();
  }
  if (over_) {
    decoder.release(kept);
    rows_.clear();
    return;
  }
  if (all_right)
    unread_.assign(1, text_.back());
  else
    unread_.insert(unread_.end(), chosen.begin(), chosen.end());
  // After wrong draft tokens, the text's own tokens are read again and again: from time to time a step uses
  // no draft.
  guesses_ =
      unread_.size() <= 2 * request_.draft_source->max_tokens() ? propose() : std::vector<std::int64_t>();
  if (!guesses_.empty()) branch_ = decoder.fork(kept);
  feed_ = unread_;
  feed_.insert(feed_.end(), guesses_.begin(), guesses_.end());
}

std::vector<std::int64_t> SpeculativeSearch::propose() const {
  const auto room = static_cast<std::size_t>(request_.max_new - steps_ - 1);
  // Without the padding of a batch, which may contain ids that the model cannot read.
  std::vector<std::int64_t> text(request_.first.begin(), request_.first.end());
  text.insert(text.end(), text_.end() - static_cast<std::ptrdiff_t>(steps_), text_.end());
  return request_.draft_source->propose(text, std::min(request_.draft_source->max_tokens(), room));
}

void SpeculativeSearch::release(Decoder& decoder) {
  if (branch_) decoder.release(*branch_);
  branch_.reset();
  Search::release(decoder);
}

std::vector<GeneratedSequence> SpeculativeSearch::results() const {
  return {made_};
}

}  // namespace attend
