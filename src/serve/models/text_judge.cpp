#include "serve/models/text_judge.h"

#include "base/error.h"
#include "models/families/labels.h"

#include <algorithm>

namespace attend::serve {

TextJudge::TextJudge(ServedModel& model)
    : model_(model),
      longest_(ModelPath(model.model()).directory, *ModelPath(model.model()).loaded),
      gathered_([this](const std::vector<Text>& texts) { return classify_now(texts); }) {}

TextClassifier* TextJudge::classifier() {
  const std::lock_guard lock(making_);
  if (!std::exchange(tried_, true)) {
    try {
      classifier_.emplace(model_.model());
    } catch (const Error& error) {
      no_classifier_ = error.what();
    }
  }
  return classifier_ ? &*classifier_ : nullptr;
}

std::vector<std::string> TextJudge::labels(std::optional<std::int64_t> adapter) {
  if (classifier() == nullptr) throw Error(no_classifier_, ErrorKind::call);
  return read_labels(ModelPath(model_.model()).loaded->with_adapter(adapter).config());
}

std::vector<std::vector<LabelScore>> TextJudge::classify(const std::vector<TextAndPair>& texts,
                                                         const Options& options) {
  if (classifier() == nullptr) throw Error(no_classifier_, ErrorKind::call);
  std::vector<Text> all;
  for (const TextAndPair& text : texts) all.push_back({text, options});
  return gathered_.ask(std::move(all));
}

std::vector<std::vector<LabelScore>> TextJudge::classify_now(const std::vector<Text>& texts) {
  std::map<Options, std::vector<std::size_t>> groups;  // texts with equal options
  for (std::size_t i = 0; i < texts.size(); ++i) groups[texts[i].options].push_back(i);
  std::vector<std::vector<LabelScore>> results(texts.size());
  for (const auto& [how, numbers] : groups) {
    ClassifyOptions options;
    options.adapter = how.adapter;
    options.truncate = how.truncate;
    options.function = how.function;
    options.top_k = 0;
    std::vector<TextAndPair> some;
    for (const std::size_t i : numbers) some.push_back(texts[i].text);
    auto theirs = classifier_->classify(some, options);
    for (std::size_t i = 0; i < numbers.size(); ++i) results[numbers[i]] = std::move(theirs[i]);
  }
  return results;
}

std::vector<float> TextJudge::match(const std::vector<TextAndPair>& pairs, const Options& options) {
  std::vector<float> scores;
  if (classifier() != nullptr) {
    if (const std::size_t count = labels(options.adapter).size(); count != 1)
      fail("model: {} has {} labels: expected a model with one score for a pair, or one that gives vectors",
           model_.name(), count);
    Options with_function = options;
    if (options.function == ScoreFunction::by_model) with_function.function = ScoreFunction::sigmoid;
    for (const auto& labels : classify(pairs, with_function)) scores.push_back(labels.front().score);
    return scores;
  }
  EmbedOptions embed;
  embed.adapter = options.adapter;
  embed.truncate = options.truncate;
  const auto vectors_of = [&](auto text_of, TextRole role) {
    embed.role = model_.embedder().prompts().contains(role == TextRole::query ? "query" : "document")
                     ? role
                     : TextRole::any;
    std::vector<std::string> texts;  // each once
    for (const TextAndPair& pair : pairs) texts.push_back(text_of(pair));
    std::ranges::sort(texts);
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    std::map<std::string, std::vector<float>> vectors;
    auto made = model_.embed(texts, embed);
    for (std::size_t i = 0; i < texts.size(); ++i) vectors[texts[i]] = std::move(made[i]);
    return vectors;
  };
  const auto first = vectors_of([](const TextAndPair& pair) { return pair.text; }, TextRole::query);
  const auto second = vectors_of([](const TextAndPair& pair) { return *pair.pair; }, TextRole::document);
  for (const TextAndPair& pair : pairs)
    scores.push_back(similarity(first.at(pair.text), second.at(*pair.pair), model_.embedder().similarity()));
  return scores;
}

std::size_t TextJudge::count_tokens(const std::vector<TextAndPair>& texts, const Options& options) {
  const EncodeOptions how{.with_details = false, .truncation = longest_.truncation(options.truncate)};
  const Tokenizer& tokenizer = *model_.model().tokenizers().source;
  std::size_t count = 0;
  for (const TextAndPair& text : texts)
    count +=
        (text.pair ? tokenizer.encode_pair(text.text, *text.pair, how) : tokenizer.encode(text.text, how))
            .ids.size();
  return count;
}

}  // namespace attend::serve
