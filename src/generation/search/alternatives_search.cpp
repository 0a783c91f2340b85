#include "generation/search/alternatives_search.h"

#include "generation/scores/selection.h"

#include <algorithm>

namespace attend {
namespace {

constexpr float kNoText = -1e9f;  // the score of a result without a text, as in a beam search

SearchSettings settings_of_a_branch(const SearchSettings& all) {
  SearchSettings settings{all.config, LogitsProcessors(all.config), all.seed, all.stop_strings, all.start};
  settings.config.return_alternatives = false;
  settings.config.num_return_sequences = 1;
  return settings;
}

}  // namespace

AlternativesSearch::AlternativesSearch(Request request)
    : Search(std::move(request)), branch_settings_(settings_of_a_branch(*request_.settings)) {}

void AlternativesSearch::feed(std::vector<Decoder::Feed>& feeds) const {
  if (branches_.empty()) return Search::feed(feeds);
  for (const Branch& branch : branches_)
    if (branch.goes_on()) branch.search->feed(feeds);
}

void AlternativesSearch::choose(float* scores, std::int64_t vocabulary) {
  if (branches_.empty()) return choose_beginnings({scores, static_cast<std::size_t>(vocabulary)});
  for (const Branch& branch : branches_) {
    if (!branch.goes_on()) continue;
    if (out_of_time_) branch.search->set_out_of_time();
    const std::size_t rows = branch.search->rows();
    branch.search->choose(scores, vocabulary);
    scores += static_cast<std::int64_t>(rows) * vocabulary;
  }
}

void AlternativesSearch::choose_beginnings(std::span<float> scores) {
  process(scores, request_.tokens, request_.number);
  for (const auto& [score, token] : top_k(scores, config().num_return_sequences)) {
    if (score == kNever) break;
    // A beam search's scores are log-probabilities already.
    branches_.push_back({{token, config().num_beams > 1 ? score : log_probability(scores, token)}});
  }
  if (branches_.empty()) fail("no token may come next: every one is ruled out");
}

void AlternativesSearch::advance(Decoder& decoder) {
  const bool is_beginning = !branches_.empty() && !rows_.empty();
  if (is_beginning)
    begin(decoder);
  else
    for (const Branch& branch : branches_)
      if (branch.goes_on()) branch.search->advance(decoder);
  ++steps_;
}

void AlternativesSearch::begin(Decoder& decoder) {
  const auto text_with = [this](std::int64_t token) {
    std::vector<std::int64_t> text = request_.tokens;
    text.push_back(token);
    return text;
  };
  const auto is_over = [&](const Branch& branch) {
    return ends(branch.token.id, steps_ + 1, [&] { return text_with(branch.token.id); });
  };
  const bool is_only = branches_.size() == 1 && config().num_return_sequences > 1;
  if (is_only && !is_over(branches_[0])) {
    only_.push_back(branches_[0].token);
    request_.tokens.push_back(only_.back().id);
    branches_.clear();
    rows_[0].token = only_.back().id;
    return;
  }
  const bool is_streamed = request_.on_token && config().num_beams == 1;
  const Decoder::Sequence read = rows_[0].sequence;
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    if (is_streamed) {  // the number of texts is known only now
      for (const Token& token : only_) request_.on_token(i, {token.id, token.log_probability});
      request_.on_token(i, {branches_[i].token.id, branches_[i].token.log_probability});
    }
    if (!is_over(branches_[i]))
      branches_[i].search = continue_with(branches_[i].token.id, i, decoder.fork(read));
  }
  decoder.release(read);
  rows_.clear();
}

std::unique_ptr<Search> AlternativesSearch::continue_with(std::int64_t token, std::size_t text,
                                                          Decoder::Sequence sequence) {
  Request request;
  request.settings = &branch_settings_;
  request.number = request_.number * static_cast<std::size_t>(config().num_return_sequences) + text;
  request.tokens = request_.tokens;
  request.tokens.push_back(token);
  request.first = {&branches_[text].token.id, 1};
  request.limits = request_.limits;
  request.limits.prompt = static_cast<std::int64_t>(request.tokens.size());
  request.max_new = request_.max_new - steps_ - 1;
  request.sequence = sequence;
  request.source = request_.source;
  if (request_.on_token)
    request.on_token = [this, text](std::size_t, const ChosenToken& next) { request_.on_token(text, next); };
  return make_search(std::move(request));
}

bool AlternativesSearch::done() const {
  return rows_.empty() && std::ranges::none_of(branches_, &Branch::goes_on);
}

void AlternativesSearch::release(Decoder& decoder) {
  for (const Branch& branch : branches_)
    if (branch.search) branch.search->release(decoder);
  Search::release(decoder);
}

std::vector<GeneratedSequence> AlternativesSearch::results() const {
  std::vector<GeneratedSequence> results;
  for (const Branch& branch : branches_) {
    GeneratedSequence text = branch.search ? branch.search->results()[0] : GeneratedSequence{};
    std::vector<Token> before = only_;
    before.push_back(branch.token);
    for (std::size_t i = before.size(); i > 0; --i) {
      text.ids.insert(text.ids.begin(), before[i - 1].id);
      if (config().output_scores)
        text.log_probabilities.insert(text.log_probabilities.begin(), before[i - 1].log_probability);
    }
    results.push_back(std::move(text));
  }
  results.resize(static_cast<std::size_t>(config().num_return_sequences), {{}, kNoText});
  return results;
}

}  // namespace attend
