#include "objectives/causal_language_model.h"

#include "objectives/base/kinds.h"
#include "objectives/next_tokens.h"
#include "objectives/shared/text_streams.h"
#include "objectives/shared/token_ids.h"

namespace attend {

CausalLanguageModel::CausalLanguageModel(TokenRows text, std::int64_t length, bool remembers,
                                         double expert_balance)
    : text_(std::move(text)), length_(length), remembers_(remembers), expert_balance_(expert_balance) {
  if (text_.total() <= length) fail("{} tokens of text are too few for blocks of {}", text_.total(), length);
}

std::vector<Term> CausalLanguageModel::terms() const {
  return next_token_terms(expert_balance_);
}

void CausalLanguageModel::begin_epoch(std::uint64_t seed, std::int64_t epoch) {
  const auto slack = std::min(length_, text_.total() - length_);
  first_ = static_cast<std::int64_t>(Random(seed, epoch).below(static_cast<std::uint64_t>(slack)));
}

std::int64_t CausalLanguageModel::examples() const {
  return (text_.total() - 1 - first_) / length_;
}

std::vector<std::vector<std::int64_t>> CausalLanguageModel::batches(const BatchSize& size, std::uint64_t seed,
                                                                    std::int64_t epoch, bool shuffled) const {
  if (!remembers_) return Objective::batches(size, seed, epoch, shuffled);
  const std::int64_t fitting = size.tokens / length_;  // unlimited_tokens only if examples are limited
  return stream_batches(examples(), size.examples > 0 ? std::min(size.examples, fitting) : fitting,
                        !shuffled);
}

Batch CausalLanguageModel::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<TokenIds> inputs, labels;
  for (const std::int64_t example : examples) {
    const auto begin = text_.ids().begin() + first_ + example * length_;
    inputs.emplace_back(begin, begin + length_);
    labels.emplace_back(begin + 1, begin + length_ + 1);
  }
  Batch batch;
  batch.tokens = TokenBatch::from(inputs);
  batch.token_labels = joined(labels);
  batch.continues = remembers_ && examples.front() != 0;
  count_next_tokens(batch, expert_balance_);
  return batch;
}

namespace {

// The loss of blocks that see the memories of earlier blocks.
Tensor streamed_loss(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) {
  const Tensor hidden = read_streams(trainee, batch, pass);
  const Tensor labels = batch.token_labels;
  return trainee.network()->language_model_head->loss(hidden, labels, options, pass).sum;
}

}  // namespace

Losses CausalLanguageModel::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                   const LossOptions& options) const {
  if (remembers_) {
    const Tensor loss = streamed_loss(trainee, batch, pass, options);
    return {{loss}, loss.detach()};
  }
  return next_token_losses(trainee, batch, pass, options, expert_balance_);
}

namespace {

std::unique_ptr<Objective> make_causal(const Setting& setting) {
  check_left_to_right(setting);
  const StackSpec& stack = setting.spec.decoder ? *setting.spec.decoder : *setting.spec.encoder;
  const std::int64_t max = readable_tokens(setting, stack), wanted = wanted_length(setting.recipe);
  constexpr std::int64_t kUsual = 512;  // if positions are unlimited
  const bool endless = max == std::numeric_limits<std::int64_t>::max();
  TokenizeOptions options;
  options.cache_directory = setting.recipe.data.cache;
  options.tokenizer = setting.directory.path();
  return std::make_unique<CausalLanguageModel>(
      tokenize_running_text(plain_tokenizer(setting), setting.files, options),
      wanted > 0 ? std::min(wanted, max) : (endless ? kUsual : max), setting.spec.decoder && stack.memory,
      expert_balance(setting));
}

}  // namespace

const ObjectiveKind kCausalLanguageModel = {
    .name = "causal-lm",
    .summary = "the next token of running text",
    .head = Head::causal_language_model,
    .make = make_causal,
};

}  // namespace attend
