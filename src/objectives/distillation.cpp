#include "objectives/distillation.h"

#include "models/padded/forward.h"
#include "nn/losses/label_loss.h"
#include "nn/transformer/vocabulary_scores.h"
#include "objectives/shared/frozen_model.h"
#include "objectives/shared/token_ids.h"

namespace attend {
namespace {

bool is_over_vocabulary(Head head) {
  return head == Head::causal_language_model || head == Head::masked_language_model ||
         head == Head::pretraining || head == Head::conditional_generation;
}

bool is_over_labels(Head head) {
  return head == Head::sequence_classification || head == Head::token_classification ||
         head == Head::image_classification;
}

const StackSpec& top_of(const ModelSpec& spec) {
  return spec.decoder ? *spec.decoder : *spec.encoder;
}

// The number of rows of the last hidden states.
std::int64_t hidden_rows(const Batch& batch) {
  if (batch.images.pixels.defined()) return batch.sequences() * batch.patches;
  return batch.target.ids.defined() ? batch.target.offsets.total() : batch.tokens.offsets.total();
}

bool are_classes(const Tensor& labels) {
  return !labels.is_floating_point();
}

// The indices of the rows with a label.
Tensor labelled_rows(const Tensor& labels) {
  return labels.reshape(-1).ne(kIgnoredLabel).nonzero().squeeze(1);
}

}  // namespace

PretrainedModel load_teacher(const Setting& setting, const ObjectiveKind& kind) {
  const Recipe& recipe = setting.recipe;
  if (kind.join != nullptr || (!is_over_vocabulary(kind.head) && !is_over_labels(kind.head)))
    fail(
        "`teacher`: {} has neither one model's scores over labels nor over a vocabulary, which could be "
        "learned",
        kind.name);
  PretrainedModel teacher = load_frozen(setting, kind, recipe.teacher, "`teacher`");
  const std::int64_t theirs = top_of(teacher.network()->spec()).width(), ours = top_of(setting.spec).width();
  if (recipe.hidden_weight > 0 && theirs != ours)
    fail("`hidden_weight`: expected a teacher whose hidden states are as wide as the student's, {}, found {}",
         ours, theirs);
  return teacher;
}

std::optional<Labels> taught_labels(const PretrainedModel& teacher) {
  const auto& spec = teacher.network()->spec().score_head;
  if (!spec) return {};
  std::vector<std::string> names = read_labels(teacher.config());
  bool named = false;
  for (std::size_t i = 0; i < names.size(); ++i) named = named || names[i] != fmt::format("LABEL_{}", i);
  if (!named) return {};
  return Labels{std::move(names), spec->problem};
}

namespace {

std::unique_ptr<Objective> learn_from_model(const ObjectiveKind& kind, const Setting& student) {
  PretrainedModel teacher = load_teacher(student, kind);
  const ModelSpec& spec = teacher.network()->spec();
  const ModelDirectory directory(student.recipe.teacher);
  Recipe recipe = student.recipe;
  const bool types = takes_types(spec) && !takes_types(student.spec);  // which the student ignores
  if (types) recipe.max_length = longest_text(student);
  const Setting setting = {recipe,
                           types ? directory : student.directory,
                           types ? spec : student.spec,
                           student.tokenizers,
                           student.files,
                           student.held_out,
                           taught_labels(teacher)};
  std::unique_ptr<Objective> objective = kind.make(setting);
  return std::make_unique<Distillation>(recipe, kind, std::move(objective), Trainee(std::move(teacher)));
}

std::unique_ptr<Objective> learn_from_scores(const ObjectiveKind& kind, const Setting& student) {
  StoredScores stored = StoredScores::read(student.recipe.teacher);
  Setting setting = student;
  setting.labels = stored.labels;
  return std::make_unique<Distillation>(student.recipe, kind, kind.make(setting), std::move(stored));
}

std::int64_t labels_of(const Distillation::Teacher& teacher, std::int64_t otherwise) {
  if (const auto* stored = std::get_if<StoredScores>(&teacher)) return stored->scores.size(1);
  const auto& scores = std::get<Trainee>(teacher).network()->spec().score_head;
  return scores ? scores->labels : otherwise;
}

}  // namespace

std::unique_ptr<Objective> distil(const ObjectiveKind& kind, const Setting& student) {
  return std::filesystem::is_regular_file(student.recipe.teacher) ? learn_from_scores(kind, student)
                                                                  : learn_from_model(kind, student);
}

Distillation::Distillation(const Recipe& recipe, const ObjectiveKind& kind,
                           std::unique_ptr<Objective> objective, Teacher teacher)
    : objective_(std::move(objective)),
      teacher_(std::move(teacher)),
      vocabulary_(is_over_vocabulary(kind.head)),
      temperature_(recipe.temperature),
      soft_weight_(recipe.soft_weight),
      hard_weight_(recipe.hard_weight),
      hidden_weight_(recipe.hidden_weight) {
  const std::string source = recipe.teacher.string();
  if (!(soft_weight_ > 0) && !(hidden_weight_ > 0))
    fail("`teacher`: expected a `soft_weight` or a `hidden_weight` above 0");
  if (const std::optional<Labels> labels = objective_->labels()) {
    const auto ours = static_cast<std::int64_t>(labels->names.size());
    if (const std::int64_t theirs = labels_of(teacher_, ours); theirs != ours)
      fail("`teacher` {}: expected the {} labels of the data, found {}", source, ours, theirs);
  }
  const auto* stored = std::get_if<StoredScores>(&teacher_);
  if (stored == nullptr) return;
  if (hidden_weight_ > 0) fail("`hidden_weight`: expected a model as `teacher`, found scores, {}", source);
  if (!is_over_labels(kind.head) || kind.head == Head::token_classification)
    fail("`teacher` {}: scores of whole examples are of no use to {}; expected a model", source, kind.name);
  if (stored->scores.size(0) != objective_->examples())
    fail("`teacher` {}: expected scores of the {} examples of the data, found {}", source,
         objective_->examples(), stored->scores.size(0));
}

std::vector<Term> Distillation::terms() const {
  std::vector<Term> terms = objective_->terms();
  for (Term& term : terms) {
    if (term.name == "loss") term.name = "labels";
    term.weight *= hard_weight_;
  }
  if (soft_weight_ > 0) terms.push_back({"soft_targets", soft_weight_});
  if (hidden_weight_ > 0) terms.push_back({"hidden_states", hidden_weight_});
  return terms;
}

Batch Distillation::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  Batch batch = objective_->collate(examples, draws);
  const Tensor& labels = vocabulary_ ? batch.token_labels : batch.labels;
  if (soft_weight_ > 0) batch.counts.push_back(are_classes(labels) ? count_labels(labels) : labels.numel());
  if (hidden_weight_ > 0) batch.counts.push_back(hidden_rows(batch));
  return batch;
}

Losses Distillation::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                            const LossOptions& options) const {
  Losses student = objective_->losses(trainee, batch, pass, options);
  const Losses taught = ask_teacher(batch, pass);
  if (soft_weight_ > 0) student.sums.push_back(soft_targets(trainee, batch, student, taught));
  if (hidden_weight_ > 0) student.sums.push_back(hidden_states(batch, student, taught));
  return student;
}

Losses Distillation::ask_teacher(const Batch& batch, const Pass& pass) const {
  if (const auto* stored = std::get_if<StoredScores>(&teacher_))
    return {.sums = {}, .scores = stored->scores.index_select(0, ops::tensor(batch.examples))};
  Pass reading = frozen_pass(pass);
  const PassScope scope(reading);
  Trainee teacher = std::get<Trainee>(teacher_);
  Batch read = batch;
  // The teacher's own loss is not computed; it would cost as much as its scores.
  if (vocabulary_) read.token_labels = ops::full_like(batch.token_labels, kIgnoredLabel);
  return objective_->losses(teacher, read, reading, {});
}

Tensor Distillation::soft_targets(Trainee& trainee, const Batch& batch, const Losses& student,
                                  const Losses& taught) const {
  if (vocabulary_) {
    if (!student.hidden.defined() || student.hidden.size(0) != batch.token_labels.numel())
      fail("`teacher`: this objective does not show the hidden states of the tokens that it predicts");
    const Tensor rows = labelled_rows(batch.token_labels);
    Pass pass = Pass::inference();  // scores have no dropout
    const VocabularyScores ours =
        vocabulary_scores(trainee.network(), student.hidden.index_select(0, rows), pass);
    const Unrecorded no_grad;
    const VocabularyScores theirs =
        vocabulary_scores(std::get<Trainee>(teacher_).network(), taught.hidden.index_select(0, rows), pass);
    const Recording gradients(student.hidden.needs_gradient());
    return linear_soft_cross_entropy(ours, theirs, temperature_).sum;
  }
  const Tensor taught_scores = taught.scores;
  if (!are_classes(batch.labels)) return squared_error(student.scores, taught_scores).sum;
  const Tensor rows = labelled_rows(batch.labels);
  return soft_cross_entropy(student.scores.index_select(0, rows), taught_scores.index_select(0, rows),
                            temperature_)
      .sum;
}

Tensor Distillation::hidden_states(const Batch& batch, const Losses& student, const Losses& taught) const {
  if (!student.hidden.defined() || student.hidden.size(0) != hidden_rows(batch))
    fail("`hidden_weight`: this objective does not show the hidden states of all tokens");
  return cosine_distance(student.hidden, taught.hidden).sum;
}

}  // namespace attend
