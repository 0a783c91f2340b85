#include "generation/search/token_search.h"

#include "generation/scores/selection.h"

#include <numeric>

namespace attend {

TokenSearch::TokenSearch(Request request)
    : Search(std::move(request)),
      texts_(static_cast<std::size_t>(config().num_return_sequences), request_.tokens),
      made_(texts_.size()),
      mirostats_(texts_.size(), Mirostat(config().mirostat)),
      live_(texts_.size()) {
  std::iota(live_.begin(), live_.end(), 0);
}

void TokenSearch::choose(float* scores, std::int64_t vocabulary) {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    std::vector<std::int64_t>& text = texts_[live_[i]];
    const std::size_t row = is_first() ? 0 : i;  // all texts of a request begin with the same scores
    const std::span<float> mine(scores + static_cast<std::int64_t>(row) * vocabulary,
                                static_cast<std::size_t>(vocabulary));
    const std::uint64_t stream = request_.number * texts_.size() + live_[i];
    if (row == i) {
      process(mine, text, stream);
      mirostats_[live_[i]].truncate(mine);  // in the first step all are in the same state
    }
    text.push_back(pick(mine, stream));
    mirostats_[live_[i]].learn(mine, text.back());
    note(mine, text.back(), made_[live_[i]]);
  }
}

void TokenSearch::advance(Decoder& decoder) {
  std::vector<std::size_t> parents, live;
  std::vector<std::int64_t> tokens;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const std::vector<std::int64_t>& text = texts_[live_[i]];
    const std::int64_t token = text.back();
    if (request_.on_token)
      request_.on_token(live_[i], chosen(made_[live_[i]], made_[live_[i]].ids.size() - 1));
    if (ends(token, steps_ + 1, [&] { return std::span(text); })) continue;
    parents.push_back(is_first() ? 0 : i);
    tokens.push_back(token);
    live.push_back(live_[i]);
  }
  follow(decoder, parents, tokens);
  live_ = std::move(live);
  ++steps_;
}

std::vector<GeneratedSequence> TokenSearch::results() const {
  return made_;
}

}  // namespace attend
