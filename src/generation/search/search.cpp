#include "generation/search/search.h"

#include "generation/scores/selection.h"
#include "generation/search/alternatives_search.h"
#include "generation/search/beam_search.h"
#include "generation/search/constrained_beam_search.h"
#include "generation/search/contrastive_search.h"
#include "generation/search/group_beam_search.h"
#include "generation/search/speculative_search.h"
#include "generation/search/token_search.h"

namespace attend {

void Search::feed(std::vector<Decoder::Feed>& feeds) const {
  if (is_first()) {
    feeds.push_back({request_.sequence, request_.first});
    return;
  }
  for (const Row& row : rows_) feeds.push_back({row.sequence, {&row.token, 1}});
}

void Search::process(std::span<float> scores, std::span<const std::int64_t> tokens, std::uint64_t stream,
                     std::span<const std::int64_t> others) const {
  const SearchSettings& settings = *request_.settings;
  // Uses another seed than the draws; otherwise a processor and the choice of the token would use the same
  // random number.
  const double chance = random_fraction(~settings.seed, stream, static_cast<std::uint64_t>(steps_));
  settings.processors.apply(scores,
                            {tokens, request_.limits, request_.source, others, chance, request_.number});
}

std::vector<std::int64_t> Search::text(const TokenTree& tree, TokenTree::Node node) const {
  std::vector<std::int64_t> tokens = request_.tokens;
  const std::vector<std::int64_t> more = tree.tokens(node);
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

std::int64_t Search::pick(std::span<const float> scores, std::uint64_t stream) const {
  if (!config().do_sample) return arg_max(scores);
  return draw(scores, random_fraction(request_.settings->seed, stream, static_cast<std::uint64_t>(steps_)));
}

void Search::note(std::span<const float> scores, std::int64_t token, GeneratedSequence& text) const {
  text.ids.push_back(token);
  if (!config().output_scores) return;
  const LogProbabilities log_probability(scores);
  text.log_probabilities.push_back(log_probability(token));
  if (config().output_top_scores == 0) return;
  std::vector<Scored>& likeliest = text.likeliest.emplace_back();
  for (const auto& [score, place] :
       top_k(scores, std::min(config().output_top_scores, static_cast<std::int64_t>(scores.size()))))
    if (score != kNever) likeliest.emplace_back(log_probability(place), place);
}

ChosenToken Search::chosen(const GeneratedSequence& text, std::size_t place) {
  ChosenToken token{text.ids[place]};
  if (place < text.log_probabilities.size()) token.log_probability = text.log_probabilities[place];
  if (place < text.likeliest.size()) token.likeliest = text.likeliest[place];
  return token;
}

void Search::follow(Decoder& decoder, std::span<const std::size_t> parents,
                    std::span<const std::int64_t> tokens) {
  // The first child takes over the sequence, the others branch. Branches come first, because they may fail,
  // and then the rows must be unchanged: otherwise release() would free a sequence twice.
  std::vector<bool> taken(rows_.size(), false);
  std::vector<Row> next;
  next.reserve(parents.size());
  std::vector<Decoder::Sequence> branches;
  branches.reserve(parents.size());
  try {
    for (std::size_t i = 0; i < parents.size(); ++i) {
      const Decoder::Sequence parent = rows_[parents[i]].sequence;
      if (taken[parents[i]]) branches.push_back(decoder.fork(parent));
      next.push_back({taken[parents[i]] ? branches.back() : parent, tokens[i]});
      taken[parents[i]] = true;
    }
  } catch (...) {
    for (const Decoder::Sequence branch : branches) decoder.release(branch);
    throw;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (!taken[i]) decoder.release(rows_[i].sequence);
  rows_ = std::move(next);
}

void Search::release(Decoder& decoder) {
  for (const Row& row : rows_) decoder.release(row.sequence);
  rows_.clear();
}

std::unique_ptr<Search> make_search(Request request) {
  const GenerationConfig& config = request.settings->config;
  if (config.return_alternatives) return std::make_unique<AlternativesSearch>(std::move(request));
  if (!config.force_words_ids.empty()) return std::make_unique<ConstrainedBeamSearch>(std::move(request));
  if (config.num_beam_groups > 1) return std::make_unique<GroupBeamSearch>(std::move(request));
  if (config.num_beams > 1) return std::make_unique<BeamSearch>(std::move(request));
  if (is_contrastive(config)) return std::make_unique<ContrastiveSearch>(std::move(request));
  if (config.prompt_lookup_num_tokens)
    request.draft_source =
        std::make_unique<PromptLookup>(*config.prompt_lookup_num_tokens, config.max_matching_ngram_size);
  if (request.draft_source) return std::make_unique<SpeculativeSearch>(std::move(request));
  return std::make_unique<TokenSearch>(std::move(request));
}

}  // namespace attend
