// Classification by labels without training examples: each label is put into a hypothesis, and the model
// decides whether the text entails it (Yin et al. 2019, arXiv:1909.00161).
#include <attend/tasks.h>

#include "base/log.h"
#include "base/python_text.h"
#include "tasks/texts/text_model.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

// The id of the label "entailment". As in the original: the first label whose name starts with "entail", else
// the last.
std::size_t entailment_label(const PretrainedModel& model) {
  const Json& config = model.config().json();
  const std::vector<std::string> labels = read_labels(model.config());
  if (const auto ids = config.find("label2id"); ids != config.end() && ids->is_object()) {
    for (const auto& [label, id] : ids->items())
      if (lowercase(label).starts_with("entail") && id.is_number_unsigned() &&
          id.get<std::size_t>() < labels.size())
        return id.get<std::size_t>();
  } else {
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (lowercase(labels[i]).starts_with("entail")) return i;
  }
  warn("{}: no label begins with \"entail\": the last one, \"{}\", is taken for it", model.config().source(),
       labels.back());
  return labels.size() - 1;
}

std::string hypothesis_for(const std::string& pattern, const std::string& label) {
  const ErrorScope scope(ErrorKind::call);
  std::string text = pattern;
  const std::size_t at = text.find("{}");
  if (at == text.npos) fail("hypothesis: expected {{}} where the label goes, found \"{}\"", pattern);
  return text.replace(at, 2, label);
}

// Truncates only the text, so that the label is complete; if the text is too short for that, truncates
// nothing.
Encoding encode(const TextModel& model, const std::string& text, const std::string& hypothesis, bool asked) {
  const Tokenizer& tokenizer = model.tokenizer();
  Encoding whole = tokenizer.encode_pair(text, hypothesis);
  std::optional<Truncation> truncation = model.longest().truncation(true);
  if (!truncation || whole.ids.size() <= truncation->max_length) return whole;
  const auto of_text = static_cast<std::size_t>(std::ranges::count(whole.sequence_ids, 0));
  if (whole.ids.size() - truncation->max_length >= of_text) return whole;
  truncation->strategy = Truncation::Strategy::only_first;
  model.longest().say_cut(asked, "");
  return tokenizer.encode_pair(text, hypothesis, {.truncation = truncation});
}

// Each text with each label.
std::vector<Encoding> encode_pairs(const TextModel& model, const std::vector<std::string>& texts,
                                   const std::vector<std::string>& labels, const ZeroShotOptions& options) {
  const ErrorScope scope(ErrorKind::input);
  std::vector<std::string> hypotheses;
  for (const std::string& label : labels) hypotheses.push_back(hypothesis_for(options.hypothesis, label));
  std::vector<Encoding> pairs;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) fail("{} is empty", name_of_text(i, texts.size()));
    for (std::size_t label = 0; label < labels.size(); ++label) {
      pairs.push_back(encode(model, texts[i], hypotheses[label], options.truncate));
      model.check(pairs.back(),
                  fmt::format("{} with the label \"{}\"", name_of_text(i, texts.size()), labels[label]));
    }
  }
  return pairs;
}

// scores[i]: of label i, from the model.
std::vector<float> chances(const std::vector<std::vector<float>>& scores, std::size_t entailment,
                           bool several) {
  std::vector<float> result;
  if (several || scores.size() == 1) {
    for (const std::vector<float>& each : scores) {
      const std::size_t contradiction = entailment == 0 ? each.size() - 1 : 0;
      result.push_back(1 / (1 + std::exp(each.at(contradiction) - each.at(entailment))));
    }
    return result;
  }
  float largest = scores.front().at(entailment), sum = 0;
  for (const auto& each : scores) largest = std::max(largest, each.at(entailment));
  for (const auto& each : scores) sum += result.emplace_back(std::exp(each.at(entailment) - largest));
  for (float& chance : result) chance /= sum;
  return result;
}

// Best first; among equal scores the last, as in the original's reversed sort.
std::vector<LabelScore> ranked(const std::vector<std::string>& labels, const std::vector<float>& scores) {
  std::vector<LabelScore> ranking;
  for (std::size_t i = 0; i < labels.size(); ++i) ranking.push_back({labels[i], scores[i]});
  std::ranges::stable_sort(ranking, {}, &LabelScore::score);
  std::ranges::reverse(ranking);
  return ranking;
}

}  // namespace

ZeroShotClassifier::ZeroShotClassifier(const ModelPath& model)
    : model_(TextModel::with_scores(model, ScoreKind::sequence_classification)) {}

std::vector<std::vector<LabelScore>> ZeroShotClassifier::classify(const std::vector<std::string>& texts,
                                                                  const std::vector<std::string>& labels,
                                                                  const ZeroShotOptions& options) {
  if (labels.empty()) fail("expected at least one label to choose from, found none");
  const std::size_t entailment = entailment_label(model_->model(options.adapter)), count = labels.size();
  const std::vector<Encoding> pairs = encode_pairs(*model_, texts, labels, options);
  std::vector<std::vector<float>> scores(pairs.size());
  RunOptions run = options;
  if (options.on_progress)
    run.on_progress = [&](std::size_t done, std::size_t) { options.on_progress(done / count, texts.size()); };
  model_->run(pairs, run,
              [&](std::size_t i, const TextModel::Output& output) { scores[i] = numbers(output["logits"]); });
  std::vector<std::vector<LabelScore>> results;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto first = scores.begin() + static_cast<std::ptrdiff_t>(i * count);
    results.push_back(ranked(
        labels, chances({first, first + static_cast<std::ptrdiff_t>(count)}, entailment, options.several)));
  }
  return results;
}

}  // namespace attend
