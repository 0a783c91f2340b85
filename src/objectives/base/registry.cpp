#include "objectives/base/registry.h"

#include "objectives/base/kinds.h"

#include <array>

namespace attend {
namespace {

constexpr std::array kKinds = {
    &kCausalLanguageModel,
    &kMaskedLanguageModel,
    &kSequenceToSequence,
    &kClassification,
    &kRegression,
    &kMultiLabel,
    &kNextSentence,
    &kSentenceOrder,
    &kReplacedTokens,
    &kTranslationLanguageModel,
    &kSpanCorruption,
    &kDenoising,
    &kPermutationLanguageModel,
    &kTokenClassification,
    &kQuestionAnswering,
    &kMultipleChoice,
    &kChat,
    &kPreferences,
    &kPairs,
    &kScoredPairs,
    &kImageClassification,
    &kMaskedImages,
};

}  // namespace

std::span<const ObjectiveKind* const> objective_kinds() {
  return kKinds;
}

const ObjectiveKind& find_objective(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ObjectiveKind* kind : kKinds) {
    if (kind->name == name) return *kind;
    names.push_back(kind->name);
  }
  fail("`objective` {}: expected one of {}", name, fmt::join(names, ", "));
}

TableOptions table_options(const Setting& setting) {
  TableOptions options;
  if (!setting.recipe.data.format.empty()) options.format = parse_table_format(setting.recipe.data.format);
  if (!setting.recipe.data.columns.empty()) options.columns = parse_columns(setting.recipe.data.columns);
  options.header = setting.recipe.data.header;
  return options;
}

Tokenizer plain_tokenizer(const Setting& setting) {
  Tokenizer tokenizer = Tokenizer::from_file(setting.directory.path());
  tokenizer.truncation().reset();
  tokenizer.padding().reset();
  return tokenizer;
}

std::int64_t readable_tokens(const Setting& setting, const StackSpec& stack) {
  const std::int64_t max = max_positions(stack.embeddings);
  const bool endless = max == std::numeric_limits<std::int64_t>::max();
  return endless ? max : max - setting.recipe.adapter.prefix - setting.recipe.adapter.prompt;
}

std::int64_t wanted_length(const Recipe& recipe) {
  return recipe.data.length > 0 ? recipe.data.length : recipe.data.max_length;
}

std::int64_t longest_text(const Setting& setting, std::int64_t usual) {
  const StackSpec& stack = setting.spec.encoder ? *setting.spec.encoder : *setting.spec.decoder;
  const std::int64_t readable = readable_tokens(setting, stack);
  const std::int64_t wanted = wanted_length(setting.recipe);
  return wanted > 0 ? std::min(wanted, readable) : std::min(readable, usual);
}

std::int64_t start_token(const Setting& setting) {
  const Fields& config = setting.directory.config();
  return config.integer({"decoder_start_token_id"}, config.integer({"pad_token_id"}, {}, 0), 0);
}

}  // namespace attend
