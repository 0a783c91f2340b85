#include "objectives/sequence_to_sequence.h"

#include "base/file.h"
#include "base/log.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/token_ids.h"

#include <algorithm>

namespace attend {

SequenceToSequence::SequenceToSequence(TokenizerPair tokenizers, std::span<const std::string> sources,
                                       std::span<const std::string> targets, std::int64_t start_token,
                                       std::int64_t max_length, double bpe_dropout)
    : tokenizers_(std::move(tokenizers)),
      bpe_dropout_(bpe_dropout),
      start_token_(start_token),
      max_length_(max_length) {
  if (sources.size() != targets.size())
    fail("the source has {} lines and the target {}: line n of one must belong to line n of the other",
         sources.size(), targets.size());
  std::vector<TokenIds> source_ids = encode(*tokenizers_.source, sources, {}),
                        target_ids = encode(*tokenizers_.target, targets, {});
  std::size_t empty = 0, too_long = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto longest = static_cast<std::int64_t>(std::max(source_ids[i].size(), target_ids[i].size()));
    if (sources[i].empty() || targets[i].empty())
      ++empty;
    else if (longest > max_length)
      ++too_long;
    else {
      sources_.push_back(std::move(source_ids[i]));
      targets_.push_back(std::move(target_ids[i]));
      if (bpe_dropout > 0) {
        source_texts_.push_back(sources[i]);
        target_texts_.push_back(targets[i]);
      }
    }
  }
  if (empty > 0) warn("left out {} pairs with an empty side", empty);
  if (too_long > 0) warn("left out {} pairs with more than {} tokens", too_long, max_length);
  if (sources_.empty()) fail("no pair of lines is left to learn from");
}

void SequenceToSequence::begin_epoch(std::uint64_t seed, std::int64_t epoch) {
  if (bpe_dropout_ == 0) return;
  Random random(seed, epoch);
  const auto cut_anew = [&](const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                            std::vector<TokenIds>& ids) {
    std::vector<TokenIds> cut = encode(tokenizer, texts, {.dropout = bpe_dropout_, .seed = random.next()});
    for (std::size_t i = 0; i < ids.size(); ++i) {
      // Smaller pieces may be too many: then use the usual ones, not those of the last epoch, which a resumed
      // run would not have.
      const bool fits = static_cast<std::int64_t>(cut[i].size()) <= max_length_;
      ids[i] = fits ? std::move(cut[i]) : std::move(encode(tokenizer, {&texts[i], 1}, {}).front());
    }
  };
  cut_anew(*tokenizers_.source, source_texts_, sources_);
  cut_anew(*tokenizers_.target, target_texts_, targets_);
}

std::int64_t SequenceToSequence::tokens(std::int64_t example) const {
  return static_cast<std::int64_t>(std::max(sources_[example].size(), targets_[example].size()));
}

Batch make_pairs(const std::vector<TokenIds>& sources, const std::vector<TokenIds>& targets,
                 std::int64_t start_token) {
  std::vector<TokenIds> inputs;
  for (const TokenIds& target : targets) {
    inputs.push_back({start_token});
    inputs.back().insert(inputs.back().end(), target.begin(), target.end() - 1);
  }
  Batch batch;
  batch.tokens = TokenBatch::from(sources);
  batch.target = TokenBatch::from(inputs);
  batch.token_labels = joined(targets);
  batch.counts = {count_labels(batch.token_labels)};
  return batch;
}

Losses pair_losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) {
  Transformer model = trainee.network();
  const TokenBatch source = batch.tokens;
  const CrossAttentionKV memory = model->project_kv(source, pass);
  const Tensor hidden = model->decode(batch.target, pass, &memory);
  return {.sums = {model->language_model_head->loss(hidden, batch.token_labels, options, pass).sum},
          .hidden = hidden};
}

Batch SequenceToSequence::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<TokenIds> sources, targets;
  for (std::int64_t example : examples) {
    sources.push_back(sources_[example]);
    targets.push_back(targets_[example]);
  }
  return make_pairs(sources, targets, start_token_);
}

Losses SequenceToSequence::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                  const LossOptions& options) const {
  return pair_losses(trainee, batch, pass, options);
}

namespace {

std::unique_ptr<Objective> make_sequence_to_sequence(const Setting& setting) {
  const std::vector<std::string>& files = setting.files;
  if (files.size() != 2)
    fail("sequence-to-sequence: expected two files, source and target, found {}", files.size());
  const std::vector<std::string> sources = read_lines(files[0]), targets = read_lines(files[1]);
  if (sources.size() != targets.size())
    fail("{} has {} lines and {} has {}: line n of one must belong to line n of the other", files[0],
         sources.size(), files[1], targets.size());
  if (sources.empty()) fail("{}: the file is empty", files[0]);
  const std::int64_t max = readable_tokens(setting, *setting.spec.decoder),
                     wanted = setting.recipe.data.max_length;
  return std::make_unique<SequenceToSequence>(setting.tokenizers, sources, targets, start_token(setting),
                                              wanted > 0 ? std::min(wanted, max) : max,
                                              setting.held_out ? 0 : setting.recipe.data.bpe_dropout);
}

}  // namespace

const ObjectiveKind kSequenceToSequence = {
    .name = "sequence-to-sequence",
    .summary = "a target text from a source text: two files, line by line",
    .head = Head::conditional_generation,
    .make = make_sequence_to_sequence,
};

}  // namespace attend
