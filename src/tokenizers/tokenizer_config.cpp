#include "tokenizers/tokenizer_config.h"

#include "base/error.h"
#include "base/file.h"
#include "tokenizers/tokenizer_files.h"

#include <algorithm>
#include <sstream>

namespace attend::tokenizers {
namespace {

Json read_if_there(const std::filesystem::path& path) {
  return file_exists(path) ? read_json(path) : Json::object();
}

// A special token is a text, or an object with its "content".
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

Json entry(const std::string& text, const Json& flags, bool special) {
  return {{"content", text},
          {"single_word", flag(flags, "single_word")},
          {"lstrip", flag(flags, "lstrip")},
          {"rstrip", flag(flags, "rstrip")},
          {"normalized", false},
          {"special", special}};
}

}  // namespace

TokenizerConfig::TokenizerConfig(const std::filesystem::path& directory)
    : fields_(read_if_there(directory / file_names::tokenizer_config_json),
              (directory / file_names::tokenizer_config_json).string()),
      map_(read_if_there(directory / file_names::special_tokens_map_json)),
      added_(read_if_there(directory / file_names::added_tokens_json)) {
  for (const auto& [json, name] : {std::pair{&map_, file_names::special_tokens_map_json},
                                   std::pair{&added_, file_names::added_tokens_json}})
    if (!json->is_object()) fail("{}: expected a JSON object", (directory / name).string());
  family_ = without_suffix(fields_.text({"tokenizer_class"}, ""));
  if (!family_.empty() && family_ != "PreTrained") return;
  const std::filesystem::path model = directory / "config.json";
  family_ = file_exists(model) ? Fields(read_json(model), model.string()).text({"model_type"}, "") : "";
}

std::string TokenizerConfig::token(std::string_view role, const std::string& otherwise) const {
  for (const Json* json : {&fields_.json(), &map_}) {
    const auto found = json->find(std::string(role));
    if (found == json->end()) continue;
    if (const Json* content = content_of(*found)) return content->get<std::string>();
  }
  return otherwise;
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

bool TokenizerConfig::names_additional_tokens() const {
  return fields_.has({"additional_special_tokens"}) || map_.contains("additional_special_tokens");
}

Json TokenizerConfig::added_tokens(const std::vector<Token>& specials, const Vocabulary& vocabulary) const {
  std::map<std::int64_t, Json> by_id;  // as the directory numbers them
  const auto known = [&](const std::string& text) {
    return std::any_of(by_id.begin(), by_id.end(), [&](const auto& item) {
      return item.second.at("content").template get_ref<const std::string&>() == text;
    });
  };
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
      by_id[number(id, source)] = entry(content->get<std::string>(), value, flag(value, "special"));
    }
  } else {
    for (const auto& [text, id] : added_.items()) {
      if (text.empty() || !id.is_number_integer() || id.get<std::int64_t>() < 0)
        fail("added_tokens.json: expected texts and their ids, found '{}': {}", text, shown(id));
      by_id[id.get<std::int64_t>()] = entry(text, {}, false);
    }
  }
  // The others come behind, unless the vocabulary has an id for them.
  std::int64_t next =
      std::max<std::int64_t>(vocabulary.end_id(), by_id.empty() ? 0 : by_id.rbegin()->first + 1);
  const auto add = [&](const std::string& text, Json what) {
    if (text.empty() || known(text)) return;
    const TokenId id = vocabulary.find(text);
    by_id[id >= 0 ? id : next++] = std::move(what);
  };
  for (const Token& token : specials)
    add(token.text,
        entry(token.text, {{"lstrip", token.left_strip}, {"rstrip", token.right_strip}}, token.special));
  for (const Json* json : {&fields_.json(), &map_}) {
    const auto more = json->find("additional_special_tokens");
    if (more == json->end() || !more->is_array()) continue;
    for (const Json& value : *more)
      if (const Json* content = content_of(value))
        add(content->get<std::string>(), entry(content->get<std::string>(), value, true));
  }
  Json list = Json::array();
  for (auto& [id, value] : by_id) {
    Json token = {{"id", id}};
    token.update(value);
    list.push_back(std::move(token));
  }
  return list;
}

namespace {

// The pieces of one template. Its tokens, which `ids` knows, are noted in `specials`.
Json read_template(const std::string& text, const std::map<std::string, std::size_t>& ids, Json& specials) {
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
    const auto id = ids.find(name);
    if (id == ids.end()) fail("template '{}': '{}' is neither $A nor $B nor a special token", text, name);
    pieces.push_back({{"SpecialToken", {{"id", name}, {"type_id", type}}}});
    specials[name] = {{"id", name}, {"ids", {id->second}}, {"tokens", {name}}};
  }
  return pieces;
}

}  // namespace

Json template_processor(const std::string& single, const std::string& pair, const Json& added_tokens) {
  std::map<std::string, std::size_t> ids;
  for (const Json& token : added_tokens)
    ids[token.at("content").get<std::string>()] = token.at("id").get<std::size_t>();
  Json specials = Json::object();
  const Json single_pieces = read_template(single, ids, specials),
             pair_pieces = read_template(pair, ids, specials);
  return {{"type", "TemplateProcessing"},
          {"single", single_pieces},
          {"pair", pair_pieces},
          {"special_tokens", specials}};
}

}  // namespace attend::tokenizers
