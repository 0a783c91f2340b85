#include "objectives/replaced_tokens.h"

#include "base/log.h"
#include "nn/losses/label_loss.h"
#include "nn/transformer/shared_embeddings.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/text_scores.h"

#include <algorithm>

namespace attend {
namespace {

constexpr const char* kGenerator = "generator";

MaskOptions generator_masking(const Recipe& recipe) {
  MaskOptions options = mask_options(recipe);
  options.masked = 0.85;
  options.random = 0;
  return options;
}

Tensor labeled_places(const Tensor& labels) {
  return labels.ne(kIgnoredLabel).nonzero().squeeze(1);
}

// Samples from the head's scores, which are computed in parts of the same number of rows as in the loss.
Tensor draw_from(LanguageModelHead& head, const Tensor& hidden, std::int64_t vocabulary, std::uint64_t seed) {
  const Unrecorded no_grad;
  const std::int64_t block = vocabulary_block(hidden.size(1), vocabulary);
  Pass pass = Pass::inference();
  std::vector<Tensor> drawn = {ops::empty({0}, kLong)};
  for (std::int64_t begin = 0; begin < hidden.size(0); begin += block) {
    const Tensor rows = hidden.narrow(0, begin, std::min(block, hidden.size(0) - begin));
    drawn.push_back(draw_tokens(head(rows, pass), seed, begin));
  }
  return ops::cat(drawn);
}

}  // namespace

Tensor draw_tokens(const Tensor& scores, std::uint64_t seed, std::int64_t first) {
  const Tensor odds = scores.detach().to(kFloat).softmax(1).contiguous();
  const std::int64_t rows = odds.size(0), vocabulary = odds.size(1);
  const Tensor drawn = ops::empty({rows}, kLong);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* of = odds.const_data<float>() + row * vocabulary;
    double sum = 0;  // 1 except for rounding
    for (std::int64_t id = 0; id < vocabulary; ++id) sum += of[id];
    double left = Random(seed, first + row).uniform() * sum;
    std::int64_t id = 0;
    while (id + 1 < vocabulary && (left -= of[id]) >= 0) ++id;
    drawn.data<std::int64_t>()[row] = id;
  }
  return drawn;
}

Replaced replace_tokens(const Batch& batch, const Tensor& drawn) {
  const Tensor places = labeled_places(batch.token_labels);
  const Tensor differs = drawn.ne(batch.token_labels.index_select(0, places));
  Replaced result = {batch.tokens, ops::zeros(batch.token_labels.sizes())};
  result.tokens.ids = batch.tokens.ids.index_copy(0, places, drawn);
  result.labels.index_copy_(0, places, differs.to(kFloat));
  return result;
}

ReplacedTokens::ReplacedTokens(const Setting& setting)
    : MaskedLanguageModel(setting, generator_masking(setting.recipe)),
      weight_(setting.recipe.loss.discriminator_weight) {
  if (weight_ <= 0) fail("`discriminator_weight`: expected a number above 0, found {}", weight_);
}

Batch ReplacedTokens::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  Batch batch = MaskedLanguageModel::collate(examples, draws);
  batch.counts.push_back(batch.token_labels.numel());
  return batch;
}

Losses ReplacedTokens::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                              const LossOptions& options) const {
  Transformer generator = trainee.model(kGenerator).network();
  const TokenPredictions words = predict_tokens(generator, batch, pass, options);
  const Tensor places = labeled_places(batch.token_labels);
  const Tensor drawn =
      draw_from(generator->language_model_head, words.hidden.detach().index_select(0, places),
                generator->encoder->spec().embeddings.vocabulary, pass.next_seed());
  const Replaced replaced = replace_tokens(batch, drawn);
  const Tensor scores = text_scores(trainee.model(), replaced.tokens, pass).squeeze(1);  // [T]
  return {{words.loss, sigmoid_cross_entropy(scores, replaced.labels).sum}};
}

namespace {

// An id must mean the same in both models.
void check_vocabularies(const Trainee& trainee, const PretrainedModel& generator, const Recipe& recipe) {
  const std::string& directory = recipe.generator.string();
  const StackSpec& ours = trainee.network()->encoder->spec();
  const Transformer network = generator.network();
  if (!network->encoder || network->encoder->spec().layers.front().self_attention.causal)
    fail("`generator` {}: expected an encoder that predicts hidden tokens", directory);
  const EmbeddingSpec& theirs = network->encoder->spec().embeddings;
  if (theirs.vocabulary != ours.embeddings.vocabulary)
    fail("`generator` {}: expected the model's vocabulary of {}, found {}", directory,
         ours.embeddings.vocabulary, theirs.vocabulary);
  const std::int64_t longest =
      std::min(max_positions(ours.embeddings), wanted_length(recipe) > 0 ? wanted_length(recipe) : 512);
  if (max_positions(theirs) < longest)
    fail("`generator` {}: it reads {} tokens at most and the texts may have {}; say `max_length` {}",
         directory, max_positions(theirs), longest, max_positions(theirs));
}

void add_generator(Trainee& trainee, const Setting& setting) {
  const Recipe& recipe = setting.recipe;
  const ModelDirectory directory(on_device_of(recipe.model, recipe.generator));
  const std::vector<std::string> own = directory.architectures();
  const std::string architecture =
      architecture_for(find_family(directory.config()), Head::masked_language_model,
                       own.empty() ? std::string() : own.front());
  const PretrainedModel generator = PretrainedModel::load(
      directory, {.purpose = Purpose::training,
                  .architecture = architecture,
                  .dropout = {recipe.computation.dropout, recipe.computation.attention_dropout,
                              recipe.computation.activation_dropout},
                  .fresh = FreshHead{recipe.computation.seed, {}}});
  check_vocabularies(trainee, generator, recipe);
  const std::vector<std::string> shared = share_embeddings(trainee.network(), generator.network());
  if (shared.empty())
    inform("generator and discriminator have embeddings of their own: their shapes differ");
  else
    inform("generator and discriminator share the embeddings of {}", fmt::join(shared, ", "));
  trainee.add(kGenerator, generator);
}

}  // namespace

const ObjectiveKind kReplacedTokens = {
    .name = "replaced-tokens",
    .summary = "which tokens of a text a generator has replaced (ELECTRA); with `generator`",
    .head = Head::replaced_tokens,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<ReplacedTokens>(setting);
    },
    .join = add_generator,
};

}  // namespace attend
