// Labels for tokens: named entities, parts of speech.
#include <attend/tasks.h>

#include "base/characters.h"
#include "tasks/entities.h"
#include "tasks/texts/text_model.h"

#include <algorithm>

namespace attend {
namespace {

// The tokens of one encoding, without special ones. scores [L, labels]; its own rows come first.
std::vector<ScoredToken> score_tokens(const TextModel& model, const Characters& characters,
                                      const Encoding& encoding, const Tensor& scores) {
  const bool marks_subwords = !model.tokenizer().continuing_subword_prefix().empty();
  const std::optional<TokenId> unknown = model.special_token("unk_token");
  const std::vector<float> values = numbers(ops::softmax(scores, -1));
  const auto labels = static_cast<std::size_t>(scores.size(1));
  std::vector<ScoredToken> tokens;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.special_tokens_mask[i] != 0) continue;
    const auto [start, end] = encoding.offsets[i];
    const std::string given = characters.slice(start, end);
    std::string word = model.tokenizer().id_to_token(encoding.ids[i]).value_or("");
    bool continues = marks_subwords
                         ? Characters(word).size() != Characters(given).size()
                         // A guess if tokens do not show it: without a space, no new word begins.
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

// Throws Error for an ignored label that the model does not have, except "O", the default.
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

struct TokenPieces {
  std::vector<Encoding> encodings;
  std::vector<std::size_t> text_of;  // the text of each part
};

// Texts that are too long are split into parts if there is a stride, else truncated.
TokenPieces cut(const TextModel& model, const std::vector<std::string>& texts, const TokenOptions& options) {
  if (options.stride && options.aggregation == Aggregation::none)
    fail("a stride of {} needs an aggregation: simple, first, average or max", *options.stride);
  EncodeOptions encode{.truncation = model.longest().truncation(true)};
  if (options.stride && encode.truncation) {
    if (*options.stride >= encode.truncation->max_length)
      fail("stride: expected less than the {} tokens that the model reads, found {}",
           encode.truncation->max_length, *options.stride);
    encode.truncation->stride = *options.stride;
  }
  TokenPieces pieces;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Encoding encoding = model.tokenizer().encode(texts[i], encode);
    model.check(encoding, name_of_text(i, texts.size()));
    std::vector<Encoding> more = std::move(encoding.overflowing);
    if (!options.stride && !more.empty()) {
      model.longest().say_cut(options.truncate, "`stride` reads long texts in pieces");
      more.clear();
    }
    pieces.text_of.insert(pieces.text_of.end(), more.size() + 1, i);
    pieces.encodings.push_back(std::move(encoding));
    std::ranges::move(more, std::back_inserter(pieces.encodings));
  }
  return pieces;
}

}  // namespace

TokenClassifier::TokenClassifier(const ModelPath& model)
    : model_(TextModel::with_scores(model, ScoreKind::token_classification)) {}

std::vector<std::vector<Entity>> TokenClassifier::classify(const std::vector<std::string>& texts,
                                                           const TokenOptions& options) {
  const std::vector<std::string> labels = model_->labels(options.adapter);
  check_ignored(labels, options.ignored_labels);
  const TokenPieces pieces = cut(*model_, texts, options);
  std::vector<Characters> characters;
  for (const std::string& text : texts) characters.emplace_back(text);

  const Tokenizer& tokenizer = model_->tokenizer();
  const JoinTokens join = [&](std::vector<std::string> tokens) { return tokenizer.join(std::move(tokens)); };
  std::vector<std::vector<Entity>> by_piece(pieces.encodings.size()), results(texts.size());
  model_->run(pieces.encodings, options, [&](std::size_t i, const TextModel::Output& output) {
    by_piece[i] = make_entities(
        score_tokens(*model_, characters[pieces.text_of[i]], pieces.encodings[i], output["logits"]), labels,
        options.aggregation, join);
    std::erase_if(by_piece[i], [&](const Entity& entity) {
      return std::ranges::find(options.ignored_labels, entity.label) != options.ignored_labels.end();
    });
  });
  std::vector<std::size_t> counts(texts.size());  // parts of each text
  for (std::size_t i = 0; i < by_piece.size(); ++i) {
    std::ranges::move(by_piece[i], std::back_inserter(results[pieces.text_of[i]]));
    ++counts[pieces.text_of[i]];
  }
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (counts[i] > 1) results[i] = without_overlaps(std::move(results[i]));
  return results;
}

}  // namespace attend
