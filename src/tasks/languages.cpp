#include "tasks/languages.h"

#include "base/error.h"

#include <algorithm>
#include <string_view>

namespace attend {
namespace {

bool all_of(std::string_view text, char first, char last) {
  return std::ranges::all_of(text, [&](char c) { return c >= first && c <= last; });
}

// "__en__" in M2M-100: the name is between the underscores.
bool is_marked(std::string_view token) {
  return token.size() > 4 && token.starts_with("__") && token.ends_with("__");
}

// "en_XX" of mBART, "eng_Latn" of NLLB.
bool is_code(std::string_view token) {
  const std::size_t mark = token.find('_');
  if (mark != 2 && mark != 3) return false;
  const std::string_view region = token.substr(mark + 1);
  if (!all_of(token.substr(0, mark), 'a', 'z') || region.empty() || !all_of(region.substr(0, 1), 'A', 'Z'))
    return false;
  return region.size() == 2 ? all_of(region, 'A', 'Z')
                            : region.size() == 4 && all_of(region.substr(1), 'a', 'z');
}

bool is_language(std::string_view token) {
  return is_marked(token) || is_code(token);
}

std::string name_of(const std::string& token) {
  return is_marked(token) ? token.substr(2, token.size() - 4) : token;
}

}  // namespace

Languages::Languages(const TokenizerPair& tokenizers, const std::filesystem::path& directory)
    : tokenizers_(tokenizers), model_(directory.string()) {
  const Encoding nothing = tokenizers.source->encode("");
  const auto found = std::ranges::find_if(nothing.tokens, is_language);
  if (found == nothing.tokens.end()) return;
  many_ = true;
  example_ = name_of(*found);
  place_ = static_cast<std::size_t>(found - nothing.tokens.begin());
  from_end_ = nothing.tokens.size() - place_;
  if (tokenizers.target == tokenizers.source) return;
  const Encoding target = tokenizers.target->encode("");
  if (place_ < target.tokens.size() && is_language(target.tokens[place_])) target_ = target.ids[place_];
}

std::vector<std::string> Languages::names() const {
  std::vector<std::string> names;
  if (!many_) return names;
  for (TokenId id = 0; id < static_cast<TokenId>(tokenizers_.source->vocabulary_size()); ++id)
    if (const auto token = tokenizers_.source->id_to_token(id); token && is_language(*token))
      names.push_back(name_of(*token));
  return names;
}

std::optional<std::int64_t> Languages::choose(const LanguagePair& names, GenerationConfig& config) const {
  if (!many_) {
    if (names.empty()) return {};
    fail("{}: the model has one way to translate; leave the languages out", model_);
  }
  if (names.empty()) {
    if (!config.forced_bos_token_id) config.forced_bos_token_id = target_;
    if (!config.forced_bos_token_id)
      fail("{}: a model of many languages: expected `src_lang` and `tgt_lang`, such as {}", model_, example_);
    return {};
  }
  if (names.source.empty() || names.target.empty())
    fail("{}: expected both `src_lang` and `tgt_lang`, found one", model_);
  config.forced_bos_token_id = token_of(names.target);
  return token_of(names.source);
}

void Languages::write_source(std::vector<std::int64_t>& ids, std::int64_t token) const {
  // A token before the text has a position from the start, one after it from the end.
  const std::size_t place = place_ == 0 ? 0 : ids.size() - std::min(from_end_, ids.size());
  if (place < ids.size()) ids[place] = token;
}

std::int64_t Languages::token_of(const std::string& language) const {
  for (const std::string& token : {"__" + language + "__", language})
    if (const auto id = tokenizers_.source->token_to_id(token); id && is_language(token)) return *id;
  fail("{}: the model knows no language '{}': expected a code such as {}", model_, language, example_);
}

}  // namespace attend
