#include "generation/search/contrastive_search.h"

#include "generation/scores/processors.h"

#include <utility>

namespace attend {
namespace {

Tensor directions(const Tensor& hidden) {
  return hidden / hidden.norm(2, 1, /*keepdim=*/true);
}

}  // namespace

ContrastiveSearch::ContrastiveSearch(Request request)
    : Search(std::move(request)), text_(request_.tokens), hidden_(1) {}

void ContrastiveSearch::feed(std::vector<Decoder::Feed>& feeds) const {
  const std::size_t before = feeds.size();
  Search::feed(feeds);
  for (std::size_t i = 0; i < hidden_.size(); ++i) feeds[before + i].hidden = &hidden_[i];
}

void ContrastiveSearch::choose(float* scores, std::int64_t vocabulary) {
  if (is_first())
    context_ = directions(hidden_.front());
  else
    take_best();
  if (!over_)
    find_candidates(
        {scores + static_cast<std::int64_t>(chosen_) * vocabulary, static_cast<std::size_t>(vocabulary)});
}

void ContrastiveSearch::take_best() {
  const Tensor next = directions(ops::cat(hidden_));                            // [k, d]
  const Tensor likeness = std::get<0>(ops::matmul(context_, next.t()).max(0));  // [k]
  const auto alpha = static_cast<float>(config().penalty_alpha);
  std::vector<float> scores;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    scores.push_back((1 - alpha) * candidates_[i].probability - alpha * row_scores(likeness)[i]);
  chosen_ = static_cast<std::size_t>(arg_max(scores));
  const Candidate& best = candidates_[chosen_];
  context_ = ops::cat({context_, next.narrow(0, static_cast<std::int64_t>(chosen_), 1)});
  text_.push_back(best.token);
  if (config().output_scores) log_probabilities_.push_back(best.log_probability);
  over_ = ends(best.token, steps_, [this] { return std::span(std::as_const(text_)); });
}

void ContrastiveSearch::find_candidates(std::span<float> scores) {
  process(scores, text_, request_.number);
  arg_max(scores);  // fails for NaN
  const Tensor probabilities = ops::softmax(tensor_of(scores), 0);
  candidates_.clear();
  for (const auto& [probability, token] : top_k(row_scores(probabilities), config().top_k))
    if (scores[token] != kNever) candidates_.push_back({token, probability, log_probability(scores, token)});
  if (candidates_.empty()) fail("no token is possible any more: the settings rule out the whole vocabulary");
}

void ContrastiveSearch::advance(Decoder& decoder) {
  if (!is_first() && request_.on_token)
    request_.on_token(0, {text_.back(), log_probabilities_.empty() ? 0 : log_probabilities_.back()});
  if (over_) candidates_.clear();
  std::vector<std::int64_t> tokens;
  for (const Candidate& candidate : candidates_) tokens.push_back(candidate.token);
  follow(decoder, std::vector<std::size_t>(tokens.size(), chosen_), tokens);
  hidden_.assign(tokens.size(), {});
  ++steps_;
}

std::vector<GeneratedSequence> ContrastiveSearch::results() const {
  const auto prompt = static_cast<std::ptrdiff_t>(request_.tokens.size());
  return {{{text_.begin() + prompt, text_.end()}, 0, log_probabilities_}};
}

}  // namespace attend
