#include "tasks/vectors/embedded_texts.h"

#include "base/error.h"
#include "formats/json/json.h"
#include "tokenizers/files/directory_facts.h"

#include <limits>

#include <fmt/ranges.h>

namespace attend {

EmbeddedTexts::EmbeddedTexts(const ModelDirectory& files, SentenceDirectory directory, std::int64_t positions)
    : directory_(std::move(directory)),
      path_(files.path()),
      tokenizer_(Tokenizer::from_file(path_)),
      max_length_(
          static_cast<std::size_t>(std::min(positions, directory_.texts.max_length.value_or(positions)))) {
  // Overrides the tokenizer file's settings except the side, as sentence-transformers does.
  const bool left =
      tokenizers::truncation_side(path_) == Truncation::Direction::left ||
      (tokenizer_.truncation() && tokenizer_.truncation()->direction == Truncation::Direction::left);
  tokenizer_.truncation() =
      Truncation{.direction = left ? Truncation::Direction::left : Truncation::Direction::right,
                 .max_length = max_length_};
  tokenizer_.padding().reset();
  if (directory_.texts.lowercase) tokenizer_.lower_case();
}

const std::string& EmbeddedTexts::prompt(const EmbedOptions& options) const {
  if (options.prompt) return *options.prompt;
  if (!options.prompt_name && options.role == TextRole::any) return directory_.texts.prompt;
  const std::string name =
      options.prompt_name.value_or(options.role == TextRole::query ? "query" : "document");
  const auto found = directory_.prompts.find(name);
  if (found == directory_.prompts.end()) {
    std::vector<std::string> names;
    for (const auto& [each, text] : directory_.prompts) names.push_back(each);
    fail("prompt_name: the model has no prompt {}; it has {}", shown(Json(name)), fmt::join(names, ", "));
  }
  return found->second;
}

std::vector<Encoding> EmbeddedTexts::encode(const std::vector<std::string>& texts,
                                            const EmbedOptions& options, bool with_types) const {
  EncodeOptions how{.with_details = false, .with_types = with_types};
  if (!options.truncate) how.truncation = Truncation{.max_length = std::numeric_limits<std::uint32_t>::max()};
  std::vector<Encoding> all;
  if (const std::string& before = prompt(options); before.empty()) {
    all = tokenizer_.encode_batch(texts, how);
  } else {
    std::vector<std::string> whole;
    for (const std::string& text : texts) whole.push_back(before + text);
    all = tokenizer_.encode_batch(whole, how);
  }
  const ErrorScope scope(ErrorKind::input);
  for (std::size_t i = 0; i < all.size() && !options.truncate; ++i)
    if (all[i].ids.size() > max_length_)
      fail("text {} has {} tokens, and the model reads {}: shorten it, or let it be truncated", i + 1,
           all[i].ids.size(), max_length_);
  return all;
}

std::int64_t EmbeddedTexts::prompt_tokens(const EmbedOptions& options) const {
  static constexpr const char* kRoles[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                           "pad_token", "cls_token", "mask_token"};
  const std::string& text = prompt(options);
  if (text.empty()) return 0;
  const Encoding encoding = tokenizer_.encode(text);
  const std::int64_t count = std::ssize(encoding.ids);
  const bool ends = count > 0 && (encoding.special_tokens_mask.back() == 1 ||
                                  special_tokens(kRoles).contains(encoding.ids.back()));
  return ends ? count - 1 : count;
}

std::set<TokenId> EmbeddedTexts::special_tokens(std::span<const char* const> roles) const {
  std::set<TokenId> tokens;
  for (const char* role : roles)
    if (const auto id = tokenizers::special_token(tokenizer_, path_, role)) tokens.insert(*id);
  return tokens;
}

}  // namespace attend
