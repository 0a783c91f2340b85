#include "training/logs/readings.h"

#include "nn/linear/linear.h"

#include <numeric>
#include <optional>

namespace attend {
namespace {

// Expected and predicted labels, for each row or each text, and which rows count.
struct Answers {
  Tensor expected, said;
  Tensor counting = {};  // [T] bool; undefined: one label for each text
};

const Offsets& answered_texts(const Batch& batch) {
  return batch.target.ids.defined() ? batch.target.offsets : batch.tokens.offsets;
}

// Class indices if labels are classes, else one value per label.
Answers label_answers(const Batch& batch, const Tensor& scores, const std::optional<ProblemType>& problem) {
  const Tensor labels = batch.labels, host = scores;
  if (labels.is_floating_point())
    return {labels, problem == ProblemType::multi_label ? host.sigmoid() : host};
  Answers answers{labels, host.argmax(-1)};
  if (batch.tokens.ids.defined() && labels.dim() == 1 && labels.numel() == answered_texts(batch).total())
    answers.counting = labels.ne(kIgnoredLabel);
  return answers;
}

// The most likely token of each row with a label.
Answers token_answers(const Trainee& trainee, const Batch& batch, const Tensor& hidden) {
  Answers answers{batch.token_labels, batch.token_labels.clone()};
  answers.counting = answers.expected.ne(kIgnoredLabel);
  const Tensor rows = answers.counting.nonzero().squeeze(1);
  constexpr std::int64_t kTogether = 64;  // scores over a vocabulary are large
  Pass pass = Pass::inference();
  for (std::int64_t begin = 0; begin < rows.numel(); begin += kTogether) {
    const Tensor some = rows.narrow(0, begin, std::min(kTogether, rows.numel() - begin));
    const Tensor scores = trainee.network()->language_model_head(hidden.index_select(0, some), pass);
    answers.said.index_put_({some}, scores.argmax(-1));
  }
  return answers;
}

std::optional<Answers> ask(const Trainee& trainee, const Objective& objective, const Batch& batch) {
  Trainee reader = trainee;
  reader.carried.clear();
  Pass pass = Pass::inference();
  pass.gradients = false;
  const PassScope scope(pass);
  const Losses losses = objective.losses(reader, batch, pass, {});
  if (const std::optional<Labels> labels = objective.labels())
    return losses.scores.defined() && batch.labels.defined()
               ? std::optional(label_answers(batch, losses.scores, labels->problem))
               : std::nullopt;
  const std::int64_t rows = answered_texts(batch).total();
  const bool predicts = batch.token_labels.defined() && batch.token_labels.numel() == rows &&
                        losses.hidden.defined() && losses.hidden.size(0) == rows;
  return predicts && trainee.network()->spec().language_model_head
             ? std::optional(token_answers(trainee, batch, losses.hidden))
             : std::nullopt;
}

std::string decode(const Tokenizer* tokenizer, const Tensor& ids) {
  if (tokenizer == nullptr) return "";
  const Tensor host = ids.to(kLong).contiguous();
  const std::span all(host.const_data<std::int64_t>(), static_cast<std::size_t>(host.numel()));
  return tokenizer->decode(std::vector<TokenId>(all.begin(), all.end()));
}

std::string label_words(const Labels& labels, const Tensor& values) {
  const Tensor flat = values.reshape(-1);
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const auto number = flat.is_floating_point() ? i : flat[i].item<std::int64_t>();
    const double value = flat[i].item<double>();
    if (labels.problem == ProblemType::regression)
      words.push_back(fmt::format("{:.3g}", value));
    else if (!flat.is_floating_point() || value > 0.5)
      words.push_back(labels.names.at(static_cast<std::size_t>(number)));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::vector<Sample> readings(const Trainee& trainee, const Objective& held_out, const Tokenizer* tokenizer,
                             std::int64_t count) {
  std::vector<std::int64_t> examples(static_cast<std::size_t>(std::min(count, held_out.examples())));
  std::iota(examples.begin(), examples.end(), 0);
  Batch batch = held_out.collate(examples, {});
  batch.examples = examples;
  const std::optional<Answers> answers = ask(trainee, held_out, batch);
  if (!answers) return {};
  const std::optional<Labels> labels = held_out.labels();
  const Offsets& texts = answered_texts(batch);
  std::vector<Sample> samples;
  for (std::int64_t b = 0; b < std::ssize(examples); ++b) {
    const auto own = [&](const Tensor& numbers) {
      if (!answers->counting.defined()) return numbers[b];
      return texts.part(numbers, b).masked_select(texts.part(answers->counting, b));
    };
    const auto in_words = [&](const Tensor& numbers) {
      return labels ? label_words(*labels, own(numbers)) : decode(tokenizer, own(numbers));
    };
    const std::string input = batch.tokens.ids.defined()
                                  ? decode(tokenizer, batch.tokens.offsets.part(batch.tokens.ids, b))
                                  : fmt::format("picture {}", b + 1);
    samples.push_back({input, in_words(answers->expected), in_words(answers->said)});
  }
  return samples;
}

}  // namespace attend
