#include "generation/search/group_beam_search.h"

#include "generation/scores/selection.h"

#include <algorithm>
#include <cmath>

namespace attend {

GroupBeamSearch::GroupBeamSearch(Request request)
    : Search(std::move(request)),
      groups_(static_cast<std::size_t>(config().num_beam_groups)),
      size_(static_cast<std::size_t>(config().num_beams / config().num_beam_groups)) {
  // All beams begin with the prompt; only the first of a group counts, because otherwise all would be the
  // same.
  for (Group& group : groups_)
    for (std::size_t i = 0; i < size_; ++i)
      group.running.push_back({i == 0 ? 0 : -1e9f, TokenTree::kRoot, 0});
}

void GroupBeamSearch::choose(float* scores, std::int64_t vocabulary) {
  chosen_.clear();
  for (Group& group : groups_) {
    if (!group.done) {
      choose(group, scores, vocabulary);
      for (const Beam& beam : group.running) chosen_.push_back(tree_.token(beam.node));
    } else {
      chosen_.insert(chosen_.end(), size_, padding_token(config()));  // the original counts them too
    }
  }
  ++steps_;
  // A running text ends in an end token if that is a forced word; if all do, the original stops.
  const bool ended =
      std::ranges::all_of(chosen_, [&](std::int64_t token) { return is_eos(config(), token); });
  over_ = ended || steps_ >= request_.max_new || out_of_time_ || std::ranges::all_of(groups_, &Group::done);
}

void GroupBeamSearch::choose(Group& group, float* scores, std::int64_t vocabulary) {
  const auto count = static_cast<std::size_t>(vocabulary);
  std::vector<float> shared;  // in the first step all groups have the same row, and each changes it
  std::vector<const float*> rows;
  std::vector<float> so_far;
  for (const Beam& beam : group.running) {
    float* row = scores + static_cast<std::int64_t>(beam.row) * vocabulary;
    if (is_first()) {
      const bool is_new = shared.empty();
      if (is_new) shared.assign(row, row + count);
      row = shared.data();
      if (is_new) process({row, count}, text(tree_, beam.node), 0, chosen_);
    } else {
      process({row, count}, text(tree_, beam.node), 0, chosen_);
    }
    rows.push_back(row);
    so_far.push_back(beam.score);
  }

  const auto per_beam = std::max<std::size_t>(2, 1 + config().eos_token_id.size());
  const std::vector<Scored> best =
      top_k(rows, so_far, vocabulary, static_cast<std::int64_t>(std::min(per_beam * size_, count * size_)));
  std::vector<Beam> next;
  for (std::size_t rank = 0; rank < best.size() && next.size() < size_; ++rank) {
    const auto [score, place] = best[rank];
    const Beam& beam = group.running[place / vocabulary];
    const std::int64_t token = place % vocabulary;
    if (!is_eos(config(), token))
      next.push_back({score, tree_.add(token, beam.node, rows[place / vocabulary][token]), beam.row});
    else if (rank < size_ && may_end(beam.node))
      finish(group, score, beam.node, steps_ + 1);
  }
  if (next.size() < size_) fail("eos_token_id: too many end tokens for a vocabulary of {}", vocabulary);
  improve(next, group.running, rows);
  group.running = std::move(next);
  group.done = is_done(group, best.front().first);
}

void GroupBeamSearch::finish(Group& group, float score, TokenTree::Node node, std::int64_t length) const {
  const double ranked = score / penalty(length);
  std::vector<Finished>& finished = group.finished;
  if (finished.size() < size_) {
    finished.push_back({ranked, node});
    group.worst = std::min(group.worst, ranked);
  } else if (ranked > group.worst) {
    finished.push_back({ranked, node});
    finished.erase(std::ranges::min_element(finished, {}, &Finished::score));
    group.worst = std::ranges::min_element(finished, {}, &Finished::score)->score;
  }
}

// Whether no running text can overtake the worst finished one. `best`: the best score of this step.
bool GroupBeamSearch::is_done(const Group& group, float best) const {
  if (group.finished.size() < size_) return false;
  if (config().early_stopping == EarlyStopping::yes) return true;
  const bool at_most = config().early_stopping == EarlyStopping::never && config().length_penalty > 0;
  const std::int64_t length = at_most ? request_.limits.max - request_.limits.prompt : steps_ + 1;
  return group.worst >= best / penalty(length);
}

double GroupBeamSearch::penalty(std::int64_t length) const {
  return std::pow(static_cast<double>(length), config().length_penalty);
}

void GroupBeamSearch::advance(Decoder& decoder) {
  std::vector<std::size_t> parents;
  std::vector<std::int64_t> tokens;
  for (Group& group : groups_) {
    if (group.done) continue;
    if (over_) {
      finish_running(group);
      continue;
    }
    for (Beam& beam : group.running) {
      parents.push_back(beam.row);
      tokens.push_back(tree_.token(beam.node));
      beam.row = parents.size() - 1;
    }
  }
  follow(decoder, parents, tokens);
}

void GroupBeamSearch::finish_running(Group& group) const {
  for (const Beam& beam : group.running) finish(group, beam.score, beam.node, steps_);
}

std::vector<GeneratedSequence> GroupBeamSearch::results() const {
  std::vector<Finished> all;
  for (const Group& group : groups_) all.insert(all.end(), group.finished.begin(), group.finished.end());
  // Among equal scores the original takes the last one first.
  std::ranges::stable_sort(all, {}, &Finished::score);
  std::vector<GeneratedSequence> results;
  for (std::int64_t i = 0; i < config().num_return_sequences; ++i) {
    const Finished& best = all[all.size() - 1 - static_cast<std::size_t>(i)];
    GeneratedSequence result{tree_.tokens(best.node), static_cast<float>(best.score)};
    if (static_cast<std::int64_t>(result.ids.size()) < request_.max_new && !config().eos_token_id.empty())
      result.ids.push_back(config().eos_token_id.front());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace attend
