// Labels for tokens: named entities, parts of speech.
#include <attend/tasks.h>

#include "base/characters.h"
#include "tasks/entities.h"
#include "tasks/text_model.h"

#include <algorithm>

namespace attend {
namespace {

// The tokens of one encoding, without special ones. scores [L, labels], of which the first rows are its own.
std::vector<ScoredToken> score_tokens(const TextModel& model, const std::string& text,
                                      const Encoding& encoding, const Tensor& scores) {
  const Characters characters(text);
  const bool marks_subwords = !model.tokenizer().continuing_subword_prefix().empty();
  const std::optional<TokenId> unknown = model.special_token("unk_token");
  const std::vector<float> values = numbers(at::softmax(scores, -1));
  const auto labels = static_cast<std::size_t>(scores.size(1));
  std::vector<ScoredToken> tokens;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.special_tokens_mask[i] != 0) continue;
    const auto [start, end] = encoding.offsets[i];
    const std::string given = characters.slice(start, end);
    std::string word = model.tokenizer().id_to_token(encoding.ids[i]).value_or("");
    bool continues = marks_subwords
                         ? Characters(word).size() != Characters(given).size()
                         // A guess, where the tokens do not say: no space, no new word.
                         : start > 0 && characters.slice(start - 1, start + 1).find(' ') == std::string::npos;
    if (encoding.ids[i] == unknown) {
      word = given;
      continues = false;
    }
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * labels);
    tokens.push_back(
        {std::move(word), {first, first + static_cast<std::ptrdiff_t>(labels)}, start, end, i, continues});
  }
  return tokens;
}

// Error for a label to be ignored that cannot come; "O", the usual one, a model need not have.
void check_ignored(const std::vector<std::string>& labels, const std::vector<std::string>& ignored) {
  for (const std::string& label : ignored) {
    const bool known =
        label == "O" || label.empty() || std::ranges::any_of(labels, [&](const std::string& each) {
          return each == label || each.substr(each.find('-') + 1) == label;
        });
    if (!known)
      fail("the label '{}' to be ignored is none of the model's: {}", label, fmt::join(labels, ", "));
  }
}

}  // namespace

TokenClassifier::TokenClassifier(const ModelPath& model)
    : model_(TextModel::with_scores(model, ScoreKind::token_classification)) {}

std::vector<std::vector<Entity>> TokenClassifier::classify(const std::vector<std::string>& texts,
                                                           const TokenOptions& options) {
  if (options.stride && options.aggregation == Aggregation::none)
    fail("a stride of {} needs an aggregation: simple, first, average or max", *options.stride);
  const std::vector<std::string> labels = model_->labels(options.adapter);
  check_ignored(labels, options.ignored_labels);
  const Tokenizer& tokenizer = model_->tokenizer();
  EncodeOptions encode{.truncation = model_->truncation(true)};
  if (options.stride && encode.truncation) {
    if (*options.stride >= encode.truncation->max_length)
      fail("stride: expected less than the tokenizer's model_max_length of {}, found {}",
           encode.truncation->max_length, *options.stride);
    encode.truncation->stride = *options.stride;
  }
  std::vector<Encoding> pieces;
  std::vector<std::size_t> text_of;  // each piece's
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Encoding encoding = tokenizer.encode(texts[i], encode);
    model_->check(encoding, fmt::format("text {}", i + 1));
    std::vector<Encoding> more = std::move(encoding.overflowing);
    if (!options.stride) more.clear();
    more.insert(more.begin(), std::move(encoding));
    text_of.insert(text_of.end(), more.size(), i);
    std::ranges::move(more, std::back_inserter(pieces));
  }

  const JoinTokens join = [&](std::vector<std::string> tokens) { return tokenizer.join(std::move(tokens)); };
  std::vector<std::vector<Entity>> by_piece(pieces.size()), results(texts.size());
  model_->run(pieces, options, [&](std::size_t i, const TextModel::Output& output) {
    by_piece[i] = make_entities(score_tokens(*model_, texts[text_of[i]], pieces[i], output["logits"]), labels,
                                options.aggregation, join);
    std::erase_if(by_piece[i], [&](const Entity& entity) {
      return std::ranges::find(options.ignored_labels, entity.label) != options.ignored_labels.end();
    });
  });
  for (std::size_t i = 0; i < pieces.size(); ++i)
    std::ranges::move(by_piece[i], std::back_inserter(results[text_of[i]]));
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (std::ranges::count(text_of, i) > 1) results[i] = without_overlaps(std::move(results[i]));
  return results;
}

}  // namespace attend
