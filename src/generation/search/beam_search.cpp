#include "generation/search/beam_search.h"

#include "generation/scores/selection.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

constexpr float kOut = -1e9f;  // added to a score, or replacing it, if a text no longer competes

}  // namespace

BeamSearch::BeamSearch(Request request) : Search(std::move(request)) {
  // All beams begin with the prompt; only the first counts, because otherwise all would be the same.
  for (std::int64_t b = 0; b < config().num_beams; ++b) {
    running_.push_back({b == 0 ? 0 : kOut, TokenTree::kRoot, 0});
    finished_.push_back({kOut});
  }
}

void BeamSearch::choose(float* scores, std::int64_t vocabulary) {
  const std::vector<Candidate> next = candidates(scores, vocabulary);
  ++steps_;
  continue_best(next);
  rank(next, penalty(steps_));
  improvable_ = improvable_ && can_improve();
  over_ = !improvable_ || (config().early_stopping == EarlyStopping::yes && all_finished()) ||
          std::ranges::all_of(next, &Candidate::ended);
}

// Continuations of the running texts, the best or drawn ones: enough that num_beams remain if all others end.
std::vector<BeamSearch::Candidate> BeamSearch::candidates(float* scores, std::int64_t vocabulary) {
  const auto per_beam =
      std::max<std::int64_t>(2, 1 + static_cast<std::int64_t>(config().eos_token_id.size()));
  if (per_beam > vocabulary)
    fail("eos_token_id: {} end tokens are too many for a vocabulary of {}", per_beam - 1, vocabulary);
  std::vector<const float*> rows;
  std::vector<float> so_far;
  for (const Beam& beam : running_) {
    float* row = scores + static_cast<std::int64_t>(beam.row) * vocabulary;
    const bool is_new = rows.empty() || rows.back() != row;  // in the first step all are the same
    if (is_new && !request_.settings->processors.empty())
      process({row, static_cast<std::size_t>(vocabulary)}, text(tree_, beam.node),
              request_.number * running_.size() + rows.size());
    rows.push_back(row);
    so_far.push_back(beam.score);
  }
  const std::int64_t count = per_beam * config().num_beams;
  const RandomKey random{request_.settings->seed, request_.number, static_cast<std::uint64_t>(steps_)};
  const std::vector<Scored> chosen = config().do_sample
                                         ? draw_different(rows, so_far, vocabulary, count, random)
                                         : top_k(rows, so_far, vocabulary, count);
  std::vector<Candidate> result;
  for (const auto& [score, place] : chosen) {
    const Beam& beam = running_[place / vocabulary];
    const std::int64_t token = place % vocabulary;
    const TokenTree::Node node = tree_.add(token, beam.node, rows[place / vocabulary][token]);
    result.push_back({score, node, beam.row, ends(token, steps_ + 1, [&] { return text(tree_, node); })});
  }
  return result;
}

void BeamSearch::continue_best(const std::vector<Candidate>& next) {
  std::vector<float> scores;
  for (const Candidate& candidate : next) scores.push_back(candidate.score + (candidate.ended ? kOut : 0));
  running_.clear();
  for (const auto& [score, place] : top_k(scores, config().num_beams))
    running_.push_back({score, next[place].node, next[place].row});
}

// Candidates that end, and are among the best num_beams, compete with the finished texts for the ranking.
void BeamSearch::rank(const std::vector<Candidate>& next, float length) {
  const bool full = config().early_stopping == EarlyStopping::yes && all_finished();
  std::vector<Finished> all = finished_;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const bool counts = next[i].ended && i < running_.size();
    float score = next[i].score / length;
    if (full) score += kOut;
    if (!improvable_) score += kOut;
    if (!counts) score += kOut;
    all.push_back({score, next[i].node, counts});
  }
  std::vector<float> scores;
  for (const Finished& text : all) scores.push_back(text.score);
  finished_.clear();
  for (const auto& [score, place] : top_k(scores, config().num_beams)) finished_.push_back(all[place]);
}

// Whether the best running text could still overtake the worst finished one.
bool BeamSearch::can_improve() const {
  const bool at_most = config().early_stopping == EarlyStopping::never && config().length_penalty > 0;
  const float best =
      running_.front().score / penalty(at_most ? request_.limits.max - request_.limits.prompt : steps_);
  float worst = finished_.front().score;
  for (const Finished& text : finished_) worst = std::min(worst, text.score);
  return std::ranges::any_of(finished_,
                             [&](const Finished& f) { return best > (f.is_finished ? worst : kOut); });
}

bool BeamSearch::all_finished() const {
  return std::ranges::all_of(finished_, &Finished::is_finished);
}

float BeamSearch::penalty(std::int64_t new_tokens) const {
  return static_cast<float>(std::pow(static_cast<double>(new_tokens), config().length_penalty));
}

void BeamSearch::advance(Decoder& decoder) {
  std::vector<std::size_t> parents;
  std::vector<std::int64_t> tokens;
  if (!over_)
    for (Beam& beam : running_) {
      parents.push_back(beam.row);
      tokens.push_back(tree_.token(beam.node));
      beam.row = parents.size() - 1;
    }
  follow(decoder, parents, tokens);
}

std::vector<GeneratedSequence> BeamSearch::results() const {
  std::vector<GeneratedSequence> results;
  for (std::int64_t i = 0; i < config().num_return_sequences; ++i) {
    const Finished& text = finished_[i];
    results.push_back({tree_.tokens(text.node), text.score});
    if (config().output_scores) results.back().log_probabilities = tree_.log_probabilities(text.node);
  }
  return results;
}

}  // namespace attend
