#include "generation/search/constrained_beam_search.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace attend {

ConstrainedBeamSearch::ConstrainedBeamSearch(Request request)
    : GroupBeamSearch(std::move(request)), words_(config().force_words_ids) {
  progress_[TokenTree::kRoot] = words_.begin(request_.tokens);
}

bool ConstrainedBeamSearch::may_end(TokenTree::Node node) const {
  return progress_.at(node).completed();
}

void ConstrainedBeamSearch::improve(std::vector<Beam>& next, std::span<const Beam> running,
                                    std::span<const float* const> rows) {
  std::map<TokenTree::Node, ForcedWords::Progress> progress;  // of all candidates
  std::vector<Candidate> candidates;
  const std::vector<std::size_t> equals = first_equals(running);
  std::set<std::pair<std::size_t, std::int64_t>> seen;  // texts, as the beam and the token that continues it
  const auto consider = [&](const Beam& beam, TokenTree::Node parent) -> ForcedWords::Progress& {
    ForcedWords::Progress& mine = progress[beam.node] = progress_.at(parent);
    words_.add(mine, tree_.token(beam.node));
    return mine;
  };
  for (const Beam& beam : next) {
    candidates.push_back({beam, words_.bank(consider(beam, running[beam.row].node))});
    seen.emplace(equals[beam.row], tree_.token(beam.node));
  }
  for (std::size_t i = 0; i < running.size(); ++i) {
    const Beam& beam = running[i];
    for (const auto& [token, bank] : words_.advances(progress_.at(beam.node))) {
      if (!seen.emplace(equals[i], token).second) continue;
      const TokenTree::Node node = tree_.add(token, beam.node, rows[i][token]);
      candidates.push_back({{rows[i][token] + beam.score, node, beam.row}, bank});
      consider(candidates.back().beam, beam.node);
    }
  }
  if (candidates.size() > next.size()) next = share_out(candidates, next.size());
  progress_.clear();
  for (const Beam& beam : next) progress_[beam.node] = progress.at(beam.node);
}

std::vector<std::size_t> ConstrainedBeamSearch::first_equals(std::span<const Beam> running) const {
  std::map<std::vector<std::int64_t>, std::size_t> first;
  std::vector<std::size_t> equals;
  for (std::size_t i = 0; i < running.size(); ++i)
    equals.push_back(first.try_emplace(tree_.tokens(running[i].node), i).first->second);
  return equals;
}

// The best of each bank, from the fullest bank to the emptiest, then the second of each, and so on. Banks are
// separated by 100 nats, as in the original, so a text that is even less likely may count for a lower bank.
std::vector<ConstrainedBeamSearch::Beam> ConstrainedBeamSearch::share_out(
    const std::vector<Candidate>& candidates, std::size_t count) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) {
    return static_cast<float>(candidates[i].bank * 100) + candidates[i].beam.score;
  });
  std::vector<std::pair<std::size_t, std::size_t>> places;  // its rank in its bank, and the candidate
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool same = i > 0 && candidates[order[i]].bank == candidates[order[i - 1]].bank;
    places.emplace_back(same ? places.back().first + 1 : 0, order[i]);
  }
  std::ranges::stable_sort(places, {}, &std::pair<std::size_t, std::size_t>::first);
  std::vector<Beam> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(candidates[places[i].second].beam);
  return chosen;
}

void ConstrainedBeamSearch::finish_running(Group& group) const {
  std::int64_t complete = 0;
  for (const Beam& beam : group.running) {
    if (!may_end(beam.node)) continue;
    finish(group, beam.score, beam.node, steps_);
    ++complete;
  }
  if (complete >= config().num_return_sequences) return;
  for (const Beam& beam : group.running)
    if (!may_end(beam.node)) finish(group, beam.score, beam.node, steps_);
}

}  // namespace attend
