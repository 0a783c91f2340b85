#include "tokenizers/files/tokenizer_config.h"

#include "base/error.h"
#include "base/file.h"
#include "sources/model_source.h"
#include "tokenizers/files/tokenizer_files.h"

#include <algorithm>
#include <functional>
#include <sstream>

namespace attend::tokenizers {
namespace {

Json read_if_there(const std::filesystem::path& path) {
  return file_exists(path) ? read_json(path) : Json::object();
}

// A special token is a string, or an object with its "content".
const Json* content_of(const Json& value) {
  const Json* content = &value;
  if (value.is_object() && value.contains("content")) content = &value.at("content");
  return content->is_string() && !content->get_ref<const std::string&>().empty() ? content : nullptr;
}

std::string without_suffix(std::string name) {
  for (const std::string_view suffix : {"Fast", "Tokenizer"})
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

bool flag(const Json& value, const char* name) {
  return value.is_object() && value.contains(name) && value.at(name).is_boolean() &&
         value.at(name).get<bool>();
}

// The flags of an object with a token's "content".
TokenizerConfig::Token read_token(const std::string& text, const Json& value, bool special) {
  return {
      .text = text,
      .left_strip = flag(value, "lstrip"),
      .right_strip = flag(value, "rstrip"),
      .special = special,
      .single_word = flag(value, "single_word"),
      .normalized = value.is_object() && value.contains("normalized") ? flag(value, "normalized") : !special,
      .has_flags = value.is_object()};
}

// What `tokenizers` does with a token that is added again: the last flags count, except that the token stays
// special and is still searched for in the same text (original or normalized).
void replace(TokenizerConfig::Token& token, TokenizerConfig::Token again) {
  if (token.special) {
    again.special = true;
    again.normalized = token.normalized;
  }
  token = std::move(again);
}

Json entry(const TokenizerConfig::Token& token, TokenId id) {
  return {{"id", id},
          {"content", token.text},
          {"single_word", token.single_word},
          {"lstrip", token.left_strip},
          {"rstrip", token.right_strip},
          {"normalized", token.normalized},
          {"special", token.special}};
}

}  // namespace

TokenizerConfig::TokenizerConfig(const std::filesystem::path& directory)
    : fields_(open_source(directory)->tokenizer_config(),
              (directory / file_names::tokenizer_config_json).string()),
      map_(read_if_there(directory / file_names::special_tokens_map_json)),
      added_(read_if_there(directory / file_names::added_tokens_json)) {
  for (const auto& [json, name] : {std::pair{&map_, file_names::special_tokens_map_json},
                                   std::pair{&added_, file_names::added_tokens_json}})
    if (!json->is_object()) fail("{}: expected a JSON object", (directory / name).string());
  family_ = without_suffix(fields_.text({"tokenizer_class"}, ""));
  if (!family_.empty() && family_ != "PreTrained") return;
  const std::filesystem::path model = directory / "config.json";
  family_ = "";
  if (!file_exists(model)) return;
  family_ = Fields(open_source(directory)->config(), model.string()).text({"model_type"}, "");
}

// If tokenizer_config.json numbers its tokens, special_tokens_map.json is older and not read; else it has
// priority.
const Json* TokenizerConfig::value_of(std::string_view role) const {
  const Json& config = fields_.json();
  if (!config.contains("added_tokens_decoder"))
    if (const auto found = map_.find(std::string(role)); found != map_.end()) return &*found;
  const auto found = config.find(std::string(role));
  return found == config.end() ? nullptr : &*found;
}

std::string TokenizerConfig::token(std::string_view role, const std::string& otherwise) const {
  const Json* value = value_of(role);
  if (value == nullptr) return otherwise;
  const Json* content = content_of(*value);
  return content == nullptr ? "" : content->get<std::string>();
}

std::map<std::string, std::string> TokenizerConfig::tokens(std::span<const Role> roles) const {
  std::map<std::string, std::string> tokens;
  for (const Role& role : roles) tokens[role.name] = token(role.name, role.token);
  return tokens;
}

std::string TokenizerConfig::fill_in(const std::string& text,
                                     const std::map<std::string, std::string>& tokens) const {
  std::istringstream words(text);
  std::string result, word;
  while (words >> word) {
    const std::size_t colon = word.find(':');
    std::string name = word.substr(0, colon);
    if (name.ends_with('?')) {
      name.pop_back();
      if (!fields_.flag({"add_" + name}, name == "bos_token")) continue;
    }
    const auto token = tokens.find(name);
    result += token == tokens.end() ? name : token->second;
    if (colon != word.npos) result += word.substr(colon);
    result += ' ';
  }
  return result;
}

std::set<std::string> TokenizerConfig::special_texts() const {
  std::set<std::string> texts;
  for (const Json* json : {&fields_.json(), &map_})
    for (const auto& [name, value] : json->items()) {
      if (!name.ends_with("_token") && name != "additional_special_tokens") continue;
      for (const Json& item : value.is_array() ? value : Json::array({value}))
        if (const Json* content = content_of(item)) texts.insert(content->get<std::string>());
    }
  return texts;
}

void TokenizerConfig::mark_specials(Json& added_tokens) const {
  if (!fields_.has({"added_tokens_decoder"}) || !added_tokens.is_array()) return;
  const std::set<std::string> specials = special_texts();
  std::set<std::string> listed;
  for (const auto& [id, token] : listed_tokens()) listed.insert(token.text);
  for (Json& token : added_tokens) {
    const Json* const content = token.is_object() ? content_of(token) : nullptr;
    if (content == nullptr) continue;
    const auto text = content->get<std::string>();
    if (specials.contains(text) && listed.contains(text)) token["special"] = true;
  }
}

std::vector<std::pair<std::int64_t, TokenizerConfig::Token>> TokenizerConfig::listed_tokens() const {
  std::map<std::int64_t, Token> by_id;
  const auto number = [](const std::string& text, const std::string& source) {
    if (text.empty() || text.size() > 8 || text.find_first_not_of("0123456789") != text.npos)
      fail("{}: '{}' is not the id of a token", source, text);
    return std::int64_t{std::stol(text)};
  };
  if (fields_.has({"added_tokens_decoder"})) {
    const std::string source = fields_.source() + ": added_tokens_decoder";
    const Json& decoder = fields_.json().at("added_tokens_decoder");
    if (!decoder.is_object()) fail("{}: expected an object", source);
    for (const auto& [id, value] : decoder.items()) {
      const Json* content = content_of(value);
      if (content == nullptr) fail("{}.{}: the content is missing", source, id);
      by_id[number(id, source)] = read_token(content->get<std::string>(), value, flag(value, "special"));
    }
    return {by_id.begin(), by_id.end()};
  }
  const std::set<std::string> specials = special_texts();
  for (const auto& [text, id] : added_.items()) {
    if (text.empty() || !id.is_number_integer() || id.get<std::int64_t>() < 0)
      fail("added_tokens.json: expected texts and their ids, found '{}': {}", text, shown(id));
    by_id[id.get<std::int64_t>()] = read_token(text, {}, specials.contains(text));
  }
  return {by_id.begin(), by_id.end()};
}

std::vector<TokenizerConfig::Token> TokenizerConfig::specials(std::span<const Role> roles) const {
  // The order in which transformers adds them; a directory may name more of them than its family has.
  static constexpr const char* names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};
  std::map<std::string, Token> listed;
  if (fields_.has({"added_tokens_decoder"}))
    for (auto& [id, token] : listed_tokens()) listed.emplace(token.text, std::move(token));
  std::vector<Token> tokens;
  for (const char* name : names) {
    const auto found = std::find_if(roles.begin(), roles.end(),
                                    [&](const Role& role) { return std::string_view(role.name) == name; });
    const Role role = found == roles.end() ? Role{name, ""} : *found;
    Token token{.text = this->token(role.name, role.token),
                .left_strip = role.left_strip,
                .normalized = role.normalized,
                .has_flags = role.left_strip || role.normalized};
    if (const Json* value = value_of(role.name); value != nullptr) {
      if (const auto same = listed.find(token.text); same != listed.end())
        token = same->second;
      else if (value->is_object())
        token = read_token(token.text, *value, true);
    }
    token.special = true;
    if (!token.text.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

std::optional<std::vector<TokenizerConfig::Token>> TokenizerConfig::additional_tokens() const {
  std::optional<std::vector<Token>> tokens;
  for (const Json* json : {&fields_.json(), &map_}) {
    const auto more = json->find("additional_special_tokens");
    if (more == json->end() || !more->is_array()) continue;
    if (json == &map_ && fields_.has({"added_tokens_decoder"})) continue;
    if (!tokens) tokens.emplace();
    for (const Json& value : *more)
      if (const Json* content = content_of(value))
        tokens->push_back(read_token(content->get<std::string>(), value, true));
  }
  return tokens;
}

Json TokenizerConfig::added_tokens(Kind kind, const std::vector<Token>& first,
                                   const std::vector<Token>& specials, const Vocabulary& vocabulary) const {
  std::vector<Token> order;  // each text once, at its first occurrence
  std::map<std::string, std::size_t> places;
  const auto add = [&](const Token& token) {
    if (token.text.empty()) return;
    const auto [place, is_new] = places.emplace(token.text, order.size());
    if (is_new)
      order.push_back(token);
    else if (token.has_flags)
      replace(order[place->second], token);
  };
  for (const Token& token : first) add(token);
  std::set<std::string> special_texts;
  for (const Token& special : specials) special_texts.insert(special.text);
  std::map<std::string, TokenId> ids;
  for (auto& [id, token] : listed_tokens()) {
    token.has_flags = true;
    // A slow tokenizer leaves out only tokens with a role.
    token.special = (kind == Kind::fast && token.special) || special_texts.contains(token.text);
    add(token);
    if (id > Vocabulary::max_id) fail("{}: the id {} is too large", fields_.source(), id);
    ids[token.text] = static_cast<TokenId>(id);
  }
  for (const Token& special : specials) add(special);
  auto next = static_cast<std::int64_t>(vocabulary.size());
  if (kind == Kind::slow)
    for (const auto& [text, id] : ids) next += vocabulary.find(text) < 0 ? 1 : 0;
  std::map<TokenId, Token> by_id;
  for (Token& token : order) {
    TokenId id = vocabulary.find(token.text);
    if (const auto told = ids.find(token.text); kind == Kind::slow && told != ids.end()) id = told->second;
    if (id < 0) id = static_cast<TokenId>(next++);
    if (kind == Kind::slow) token.normalized = false;
    by_id[id] = std::move(token);
  }
  Json list = Json::array();
  for (const auto& [id, token] : by_id) list.push_back(entry(token, id));
  return list;
}

std::set<std::string> TokenizerConfig::tokens_apart(const Json& added, std::span<const Role> roles,
                                                    const Vocabulary& vocabulary) const {
  std::set<std::string> with_role, apart;
  for (const Token& token : specials(roles)) with_role.insert(token.text);
  for (const Json& token : added) {
    const std::string text = token.at("content").get<std::string>();
    const bool is_new = token.at("id").get<std::size_t>() >= vocabulary.size();
    if (!token.at("special").get<bool>() || (is_new && !with_role.contains(text))) apart.insert(text);
  }
  return apart;
}

namespace {

// The parts of one template; adds its tokens to `specials`. Not a C++ template, because clang 14 leaks JSON
// lists there.
Json read_template(const std::string& text, const std::function<TokenId(const std::string&)>& find_id,
                   Json& specials) {
  Json pieces = Json::array();
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos; at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string name = text.substr(at, end - at);
    at = end;
    int type = 0;
    const std::size_t colon = name.rfind(':');
    if (colon != name.npos && colon + 2 == name.size() && name[colon + 1] >= '0' && name[colon + 1] <= '9') {
      type = name[colon + 1] - '0';
      name.resize(colon);
    }
    if (name == "$A" || name == "$B") {
      pieces.push_back({{"Sequence", {{"id", name.substr(1)}, {"type_id", type}}}});
      continue;
    }
    const TokenId id = find_id(name);
    if (id < 0) fail("template '{}': '{}' is neither $A nor $B nor a special token", text, name);
    pieces.push_back({{"SpecialToken", {{"id", name}, {"type_id", type}}}});
    specials[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  }
  return pieces;
}

}  // namespace

Json template_processor(const std::string& single, const std::string& pair, const Json& added_tokens,
                        const Vocabulary* vocabulary, const std::string& otherwise) {
  std::map<std::string, TokenId> ids;
  for (const Json& token : added_tokens)
    ids[token.at("content").get<std::string>()] = token.at("id").get<TokenId>();
  const auto known_id = [&](const std::string& name) {
    const auto id = ids.find(name);
    if (id != ids.end()) return id->second;
    return vocabulary == nullptr ? TokenId{-1} : vocabulary->find(name);
  };
  const auto find_id = [&](const std::string& name) {
    const TokenId id = known_id(name);
    return id < 0 && !otherwise.empty() ? known_id(otherwise) : id;  // "" may be a token of the vocabulary
  };
  Json specials = Json::object();
  const Json single_pieces = read_template(single, find_id, specials),
             pair_pieces = read_template(pair, find_id, specials);
  return {{"type", "TemplateProcessing"},
          {"single", single_pieces},
          {"pair", pair_pieces},
          {"special_tokens", specials}};
}

}  // namespace attend::tokenizers
