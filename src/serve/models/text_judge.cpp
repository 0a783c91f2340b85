#include "serve/models/text_judge.h"

#include "base/error.h"
#include "models/families/labels.h"

#include <algorithm>

namespace attend::serve {
namespace {

// Work for texts with equal options together.
template <class Out, class Text, class Work>
std::vector<Out> by_options(const std::vector<Text>& texts, const Work& work) {
  std::vector<decltype(Text::options)> keys;
  for (const Text& text : texts) keys.push_back(text.options);
  return by_key<Out>(keys, [&](const auto& options, const std::vector<std::size_t>& numbers) {
    std::vector<TextAndPair> some;
    for (const std::size_t i : numbers) some.push_back(texts[i].text);
    return work(some, options);
  });
}

template <class Text, class Options>
std::vector<Text> with_options(const std::vector<TextAndPair>& texts, const Options& options) {
  std::vector<Text> all;
  for (const TextAndPair& text : texts) all.push_back({text, options});
  return all;
}

RerankOptions rerank_options(const TextJudge::MatchOptions& given) {
  RerankOptions options;
  options.adapter = given.adapter;
  options.truncate = given.truncate;
  options.raw_scores = given.raw_scores;
  options.prompt = given.prompt;
  options.prompt_name = given.prompt_name;
  return options;
}

}  // namespace

TextJudge::TextJudge(ServedModel& model)
    : model_(model),
      longest_(ModelPath(model.model()).directory, *ModelPath(model.model()).loaded),
      gathered_([this](const std::vector<TextToLabel>& texts) { return classify_now(texts); }),
      gathered_pairs_([this](const std::vector<TextToMatch>& pairs) { return match_now(pairs); }) {}

template <class Task>
Task* TextJudge::Attempt<Task>::get(TextJudge& judge) {
  const std::lock_guard lock(judge.making_);
  if (!std::exchange(made, true)) {
    try {
      task.emplace(judge.model_.model());
    } catch (const Error& error) {
      problem = error.what();
    }
  }
  return task ? &*task : nullptr;
}

bool TextJudge::has_labels() {
  return classifier_.get(*this) != nullptr;
}

std::vector<std::string> TextJudge::labels(std::optional<std::int64_t> adapter) {
  if (!has_labels()) throw Error(classifier_.problem, ErrorKind::call);
  return read_labels(ModelPath(model_.model()).loaded->with_adapter(adapter).config());
}

std::vector<std::vector<LabelScore>> TextJudge::classify(const std::vector<TextAndPair>& texts,
                                                         const LabelOptions& options) {
  if (!has_labels()) throw Error(classifier_.problem, ErrorKind::call);
  return gathered_.ask(with_options<TextToLabel>(texts, options));
}

std::vector<std::vector<LabelScore>> TextJudge::classify_now(const std::vector<TextToLabel>& texts) {
  return by_options<std::vector<LabelScore>>(
      texts, [&](const std::vector<TextAndPair>& some, const LabelOptions& how) {
        ClassifyOptions options;
        options.adapter = how.adapter;
        options.truncate = how.truncate;
        options.function = how.function;
        options.top_k = 0;
        return classifier_.task->classify(some, options);
      });
}

std::size_t TextJudge::count_tokens(const std::vector<TextAndPair>& texts, const LabelOptions& options) {
  const EncodeOptions how{.with_details = false, .truncation = longest_.truncation(options.truncate)};
  const Tokenizer& tokenizer = *model_.model().tokenizers().source;
  std::size_t count = 0;
  for (const TextAndPair& text : texts)
    count +=
        (text.pair ? tokenizer.encode_pair(text.text, *text.pair, how) : tokenizer.encode(text.text, how))
            .ids.size();
  return count;
}

std::vector<float> TextJudge::match(const std::vector<TextAndPair>& pairs, const MatchOptions& options) {
  if (reranker_.get(*this) == nullptr) return compare_vectors(pairs, options);
  return gathered_pairs_.ask(with_options<TextToMatch>(pairs, options));
}

std::vector<float> TextJudge::match_now(const std::vector<TextToMatch>& pairs) {
  return by_options<float>(pairs, [&](const std::vector<TextAndPair>& some, const MatchOptions& options) {
    return reranker_.task->score(some, rerank_options(options));
  });
}

std::vector<float> TextJudge::compare_vectors(const std::vector<TextAndPair>& pairs,
                                              const MatchOptions& options) {
  if (options.prompt || options.prompt_name)
    fail("prompt, prompt_name: {} is no reranker, so its vectors are compared, with its own prompts",
         model_.name());
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
  std::vector<float> scores;
  for (const TextAndPair& pair : pairs)
    scores.push_back(similarity(first.at(pair.text), second.at(*pair.pair), model_.embedder().similarity()));
  return scores;
}

std::size_t TextJudge::count_tokens(const std::vector<TextAndPair>& pairs, const MatchOptions& options) {
  if (Reranker* const reranker = reranker_.get(*this)) {
    std::size_t count = 0;
    for (const std::size_t tokens : reranker->count_tokens(pairs, rerank_options(options))) count += tokens;
    return count;
  }
  return count_tokens(pairs, LabelOptions{.truncate = options.truncate});
}

}  // namespace attend::serve
