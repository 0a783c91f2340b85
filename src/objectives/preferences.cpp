#include "objectives/preferences.h"

#include "base/log.h"
#include "models/families/head.h"
#include "nn/losses/label_loss.h"
#include "nn/transformer/token_probabilities.h"
#include "objectives/base/kinds.h"
#include "objectives/next_tokens.h"
#include "objectives/shared/frozen_model.h"
#include "tokenizers/files/tokenizer_config.h"

#include <array>

namespace attend {
namespace {

constexpr std::array<std::pair<std::string_view, PreferenceLoss>, 4> kLosses = {
    {{"sigmoid", PreferenceLoss::sigmoid},
     {"robust", PreferenceLoss::robust},
     {"hinge", PreferenceLoss::hinge},
     {"ipo", PreferenceLoss::ipo}}};

bool is_chat(const Preference& row) {
  return std::holds_alternative<Messages>(row.prompt);
}

// Both answers after their prompt. The chat template is read if a row has messages.
class PreferenceTexts {
 public:
  explicit PreferenceTexts(const Setting& setting)
      : setting_(setting),
        end_(tokenizers::TokenizerConfig(setting.directory.path()).token("eos_token", "")) {}

  void add(const Preference& row) {
    if (chat_ && *chat_ != is_chat(row)) fail("expected messages in all rows or texts in all, found both");
    chat_ = is_chat(row);
    TaughtText chosen = after_prompt(row, row.chosen), rejected = after_prompt(row, row.rejected);
    if (chosen.text == rejected.text) fail("chosen and rejected: expected two answers, found the same");
    texts.push_back(std::move(chosen));
    texts.push_back(std::move(rejected));
  }

  std::vector<TaughtText> texts;  // chosen, rejected, chosen, rejected, ...

 private:
  TaughtText after_prompt(const Preference& row, const Preference::Part& answer) {
    if (!is_chat(row))
      return answer_after(std::get<std::string>(row.prompt), std::get<std::string>(answer), end_);
    if (!template_) template_.emplace(chat_template_of(setting_));
    return answer_after(*template_, std::get<Messages>(row.prompt), std::get<Messages>(answer),
                        row.variables);
  }

  const Setting& setting_;
  std::string end_;
  std::optional<bool> chat_;
  std::optional<ChatTemplate> template_;
};

}  // namespace

PreferenceLoss parse_preference_loss(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [each, loss] : kLosses) {
    if (each == name) return loss;
    names.push_back(each);
  }
  fail("`loss_type` {}: expected one of {}", name, fmt::join(names, ", "));
}

Preferences::Preferences(const Setting& setting)
    : loss_(parse_preference_loss(setting.recipe.loss.loss_type)),
      beta_(setting.recipe.loss.beta),
      smoothing_(setting.recipe.loss.label_smoothing) {
  check_left_to_right(setting);
  if (!(beta_ > 0)) fail("`beta` {:g}: expected a number above 0", beta_);
  const bool smooths = loss_ == PreferenceLoss::sigmoid || loss_ == PreferenceLoss::robust;
  if (smoothing_ != 0 && !smooths)
    fail("`label_smoothing`: it has no effect with `loss_type` {}; it is for sigmoid, robust",
         setting.recipe.loss.loss_type);
  if (!(smoothing_ >= 0) || smoothing_ >= 0.5)
    fail("`label_smoothing` {:g}: expected the share of swapped pairs, from 0 to below 0.5", smoothing_);
  PreferenceTexts texts(setting);
  read_preferences(setting.files, [&](const Preference& row) { texts.add(row); });
  std::vector<TaughtTokens> all = taught_tokens(setting, texts.texts);
  for (std::size_t i = 0; i < all.size(); i += 2)
    if (all[i].taught() > 0 && all[i + 1].taught() > 0)
      pairs_.push_back({std::move(all[i]), std::move(all[i + 1])});
  if (pairs_.empty())
    fail("nothing is left to learn: no answer begins within the max length; expected a larger `max_length`");
  if (const std::size_t lost = all.size() / 2 - pairs_.size(); lost > 0)
    warn("left out {} pairs: each loses an answer at the max length", lost);
}

std::vector<Term> Preferences::terms() const {
  return {{"preference"},
          {"rewards/chosen", 0, true},
          {"rewards/rejected", 0},
          {"rewards/accuracies", 0, true},
          {"rewards/margins", 0, true},
          {"logps/chosen", 0, true},
          {"logps/rejected", 0}};
}

std::int64_t Preferences::tokens(std::int64_t example) const {
  const Pair& pair = pairs_[static_cast<std::size_t>(example)];
  return std::ssize(pair.chosen.ids) + std::ssize(pair.rejected.ids);
}

Batch Preferences::collate(std::span<const std::int64_t> examples, const Draws&) const {
  std::vector<const TaughtTokens*> texts;
  for (const std::int64_t example : examples) {
    const Pair& pair = pairs_[static_cast<std::size_t>(example)];
    texts.insert(texts.end(), {&pair.chosen, &pair.rejected});
  }
  Batch batch = taught_batch(texts);
  batch.groups = Offsets(std::vector<std::int64_t>(examples.size(), 2));
  batch.counts.assign(terms().size(), std::ssize(examples));
  return batch;
}

namespace {

// How many tokens of each text are learned: [texts].
std::vector<std::int64_t> taught_counts(const Batch& batch) {
  const Offsets& texts = batch.tokens.offsets;
  std::vector<std::int64_t> counts;
  for (std::int64_t b = 0; b < texts.count(); ++b)
    counts.push_back(texts.part(batch.token_labels, b).ne(kIgnoredLabel).sum().item<std::int64_t>());
  return counts;
}

// The log-probability of each text's answer: [texts].
Tensor answer_log_probabilities(const Transformer& network, const Batch& batch, Pass& pass) {
  const TokenBatch tokens = batch.tokens;
  const Tensor hidden = network->decoder ? network->decode(tokens, pass) : network->encode(tokens, pass);
  const Tensor rows = batch.token_labels.ne(kIgnoredLabel).nonzero().squeeze(1);
  const Tensor each = token_log_probabilities(network, hidden.index_select(0, rows),
                                              batch.token_labels.index_select(0, rows), pass);
  const Offsets answers(taught_counts(batch));
  std::vector<Tensor> sums;
  for (std::int64_t b = 0; b < answers.count(); ++b) sums.push_back(answers.part(each, b).sum());
  return ops::stack(sums);
}

Tensor reference_log_probabilities(const Trainee& trainee, const Batch& batch, const Pass& pass) {
  Pass reading = frozen_pass(pass);
  const PassScope scope(reading);
  if (trainee.reference()) return answer_log_probabilities(trainee.reference()->network(), batch, reading);
  if (trainee.model().adapters().empty())
    fail(
        "`reference`: expected a model with which this one is compared, since it has no adapter to switch "
        "off");
  const AdapterScope none(reading, std::make_shared<const AdapterChoice>(AdapterChoice{.only = -1}));
  return answer_log_probabilities(trainee.network(), batch, reading);
}

// Of the chosen answers (0) or the rejected ones (1): [pairs].
Tensor side(const Tensor& of_texts, std::int64_t which) {
  return of_texts.reshape({-1, 2}).select(1, which);
}

}  // namespace

// `ratios` [texts]: log ratio of the probabilities of each answer under the model and under the reference.
Tensor Preferences::loss_of(const Tensor& ratios, const Batch& batch) const {
  const auto difference = [](const Tensor& of_texts) { return side(of_texts, 0) - side(of_texts, 1); };
  if (loss_ == PreferenceLoss::ipo) {
    const Tensor counts = ops::tensor(taught_counts(batch), kLong).to(ratios.type());
    const Tensor d = difference(ratios / counts);
    return squared_error(d, ops::full(d.sizes(), 1 / (2 * beta_), d.type())).sum;
  }
  const Tensor d = difference(ratios) * beta_;
  if (loss_ == PreferenceLoss::hinge) return ops::relu(1 - d).sum();
  const auto cross_entropy = [&](double target) {
    return sigmoid_cross_entropy(d, ops::full(d.sizes(), target, d.type())).sum;
  };
  if (loss_ == PreferenceLoss::sigmoid) return cross_entropy(1 - smoothing_);
  return (cross_entropy(1) * (1 - smoothing_) - cross_entropy(0) * smoothing_) / (1 - 2 * smoothing_);
}

Losses Preferences::losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions&) const {
  const Tensor ours = answer_log_probabilities(trainee.network(), batch, pass),
               theirs = reference_log_probabilities(trainee, batch, pass);
  const PassScope scope(pass);
  const Tensor ratios = ours - theirs, loss = loss_of(ratios, batch);
  const Tensor rewards = ratios.detach() * beta_, margins = side(rewards, 0) - side(rewards, 1);
  const Tensor logs = ours.detach();
  return {{loss, side(rewards, 0).sum(), side(rewards, 1).sum(), margins.gt(0).sum(), margins.sum(),
           side(logs, 0).sum(), side(logs, 1).sum()}};
}

namespace {

// Loads the reference that the recipe names. Otherwise it is the model as it starts: without the new adapter,
// if that changes nothing else in the model, or loaded once more.
void add_reference(Trainee& trainee, const Setting& setting) {
  const Recipe& r = setting.recipe;
  if (!r.reference.empty())
    return trainee.set_reference(load_frozen(setting, kPreferences, r.reference, "`reference`"));
  const bool adapts = r.adapter.lora > 0 || r.adapter.ia3 || r.adapter.prefix > 0 || r.adapter.prompt > 0;
  if (adapts && r.adapter.lora_init != "pissa" && r.adapter.lora_bias == "none" &&
      r.adapter.modules_to_save.empty())
    return;
  trainee.set_reference(PretrainedModel::load(
      setting.directory, {.architecture = trainee.model().architecture(), .packs = false}));
}

}  // namespace

const ObjectiveKind kPreferences = {
    .name = "preferences",
    .summary =
        "which of two answers is better (DPO): JSON lines with prompt, chosen, rejected, as texts or "
        "lists of messages",
    .head = Head::causal_language_model,
    .fine_tunes = true,
    .rate_factor = 0.02,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<Preferences>(setting);
    },
    .join = add_reference,
    .write_extra_files = write_chat_template,
};

}  // namespace attend
