#include "tokenizers/files/gguf_vocabulary.h"

#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "tokenizers/files/gguf_cuts.h"
#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace attend::tokenizers {
namespace {

// Values of tokenizer.ggml.token_type.
constexpr std::int32_t normal_token = 1, unknown_token = 2, control_token = 3, user_token = 4,
                       unused_token = 5, byte_token = 6;

struct GgufTokens {
  std::vector<std::string> texts;
  std::vector<std::int32_t> kinds;
  std::map<std::string, std::size_t> ids;
  std::vector<std::string> merges;                          // "a b"
  std::vector<std::pair<std::string, std::size_t>> merged;  // the results of the merges, with their ids

  void put(std::string_view text, std::size_t id, std::int32_t kind, const std::string& source) {
    if (id >= texts.size())
      fail("{}: the token {} has the id {}, but the model has {} tokens", source,
           shown(Json(std::string(text))), id, texts.size());
    texts[id] = text;
    kinds[id] = kind;
    ids[std::string(text)] = id;
  }
};

GgufTokens tokens_of(const TokenizerJson& json, std::int64_t rows, const std::string& source) {
  GgufTokens tokens;
  for (std::int64_t i = 0; i < rows; ++i) tokens.texts.push_back(fmt::format("[PAD{}]", i));
  tokens.kinds.assign(tokens.texts.size(), unused_token);
  json.tables.vocabulary.for_each([&](std::string_view text, TokenId id) {
    tokens.put(text, static_cast<std::size_t>(id), normal_token, source);
  });
  for (const auto& [left, right] : json.tables.merges) {
    const std::string &first = tokens.texts.at(static_cast<std::size_t>(left)),
                      &second = tokens.texts.at(static_cast<std::size_t>(right));
    tokens.merges.push_back(first + " " + second);
    if (const auto made = tokens.ids.find(first + second); made != tokens.ids.end())
      tokens.merged.emplace_back(*made);
  }
  for (const Json& token : json.fields.at("added_tokens"))
    tokens.put(token.at("content").get<std::string>(), token.at("id").get<std::size_t>(),
               token.at("special").get<bool>() ? control_token : user_token, source);
  return tokens;
}

void write_byte_level(const Json& fields, const GgufTokens& tokens, const std::string& source,
                      GgufWriter& writer) {
  writer.add("tokenizer.ggml.model", "gpt2");
  writer.add("tokenizer.ggml.pre", name_of_cut(fields, source));
  writer.add("tokenizer.ggml.tokens", tokens.texts);
  writer.add("tokenizer.ggml.token_type", tokens.kinds);
  writer.add("tokenizer.ggml.merges", tokens.merges);
}

// llama.cpp merges the pair whose token has the highest score: earlier merges get higher scores.
void write_pieces(const Json& model, GgufTokens tokens, bool prefixes, GgufWriter& writer) {
  constexpr float none = -1e9F;
  std::vector<float> scores(tokens.texts.size(), none);
  float score = 0;
  for (const auto& [text, id] : tokens.merged)
    if (scores[id] == none) scores[id] = score--;
  if (const auto id = tokens.ids.find(model.value("unk_token", "")); id != tokens.ids.end())
    tokens.kinds[id->second] = unknown_token;
  for (std::size_t i = 0; i < tokens.texts.size(); ++i)
    if (const std::string& text = tokens.texts[i];
        text.size() == 6 && text.starts_with("<0x") && text.ends_with(">"))
      tokens.kinds[i] = byte_token;
  writer.add("tokenizer.ggml.model", "llama");
  writer.add("tokenizer.ggml.pre", "default");
  writer.add("tokenizer.ggml.tokens", tokens.texts);
  writer.add("tokenizer.ggml.scores", scores);
  writer.add("tokenizer.ggml.token_type", tokens.kinds);
  writer.add("tokenizer.ggml.add_space_prefix", prefixes);
}

std::string read_template(const std::filesystem::path& model, const TokenizerConfig& config) {
  if (const auto file = model / "chat_template.jinja"; file_exists(file)) return read_file(file);
  const auto own = config.fields().json().find("chat_template");
  return own != config.fields().json().end() && own->is_string() ? own->get<std::string>() : "";
}

}  // namespace

void write_gguf_vocabulary(const std::filesystem::path& model, std::int64_t rows, GgufWriter& writer) {
  const Tokenizer tokenizer = Tokenizer::from_file(model);
  const std::string source = model.string();
  const TokenizerJson json = read_tokenizer_json(tokenizer.to_json(), source);
  const std::string type = json.fields.at("model").value("type", ""),
                    decoder = json.fields.value("decoder", Json()).dump();
  if (type != "BPE")
    fail("{}: expected byte-level BPE, or BPE with byte fallback, to write a GGUF file, found {}", source,
         type);
  const GgufTokens tokens = tokens_of(json, rows, source);
  const std::vector<TokenId> none = tokenizer.encode("").ids, letter = tokenizer.encode("a").ids;
  if (decoder.find("\"ByteLevel\"") != decoder.npos) {
    write_byte_level(json.fields, tokens, source, writer);
  } else if (json.fields.at("model").value("byte_fallback", false)) {
    const auto prefixed = tokens.ids.find("\u2581a");
    write_pieces(json.fields.at("model"), tokens,
                 prefixed != tokens.ids.end() &&
                     std::ranges::find(letter, static_cast<TokenId>(prefixed->second)) != letter.end(),
                 writer);
  } else {
    fail("{}: expected byte-level BPE, or BPE with byte fallback, to write a GGUF file", source);
  }
  const TokenizerConfig config(model);
  constexpr std::pair<const char*, const char*> roles[] = {
      {"bos_token", "bos"}, {"eos_token", "eos"}, {"unk_token", "unknown"}, {"pad_token", "padding"}};
  for (const auto& [role, name] : roles) {
    const auto id = tokens.ids.find(config.token(role, ""));
    if (id == tokens.ids.end()) continue;
    writer.add(fmt::format("tokenizer.ggml.{}_token_id", name), static_cast<std::uint32_t>(id->second));
    if (std::string_view(name) == "bos")
      writer.add("tokenizer.ggml.add_bos_token",
                 !none.empty() && none.front() == static_cast<TokenId>(id->second));
    if (std::string_view(name) == "eos")
      writer.add("tokenizer.ggml.add_eos_token",
                 !none.empty() && none.back() == static_cast<TokenId>(id->second));
  }
  if (const std::string text = read_template(model, config); !text.empty())
    writer.add("tokenizer.chat_template", text);
}

}  // namespace attend::tokenizers
