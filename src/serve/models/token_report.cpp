#include "serve/models/token_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace attend::serve {
namespace {

// A JSON text consists of whole characters.
bool is_whole(const std::string& bytes) {
  try {
    Json(bytes).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

// Numbers that JSON does not have: excluded tokens have the log-probability of OpenAI's API.
double finite(float log_probability) {
  constexpr float kMin = -9999;
  return std::max(log_probability, kMin);
}

}  // namespace

TokenNames::TokenNames(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)), texts_(tokenizer_->token_texts()) {}

std::string TokenNames::bytes(TokenId id, bool begins_text) const {
  const auto place = static_cast<std::size_t>(id);
  const std::string text = id >= 0 && place < texts_.size() ? texts_[place] : "";
  if (!begins_text || !text.starts_with(' ')) return text;
  const std::string alone = tokenizer_->decode({&id, 1});
  return text.ends_with(alone) ? alone : text;
}

std::string TokenNames::name(TokenId id, bool begins_text) const {
  const std::string text = bytes(id, begins_text);
  if (text.empty()) return tokenizer_->id_to_token(id).value_or("");
  if (is_whole(text)) return text;
  std::string name = "bytes:";
  for (const char byte : text) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return name;
}

void TokenReport::put(const ReportedToken& token) {
  const bool begins = begins_text_ && characters_ == 0;
  if (is_chat_) {
    Json entry = chat_entry(token.id, token.log_probability.value_or(0), begins);
    entry["top_logprobs"] = Json::array();
    for (const TokenScore& each : token.likeliest)
      entry["top_logprobs"].push_back(chat_entry(each.token, each.log_probability, begins));
    if (pending_.is_null()) pending_ = {{"content", Json::array()}, {"refusal", nullptr}};
    pending_["content"].push_back(std::move(entry));
  } else {
    put_completion(token, begins);
  }
  const std::string bytes = names_.bytes(token.id, begins);
  characters_ +=
      static_cast<std::size_t>(std::ranges::count_if(bytes, [](char c) { return (c & 0xC0) != 0x80; }));
  ++tokens_;
}

Json TokenReport::chat_entry(TokenId id, float log_probability, bool begins) const {
  const std::string bytes = names_.bytes(id, begins);
  Json numbers = nullptr;  // for a special token, which is not in the text
  if (!bytes.empty()) {
    numbers = Json::array();
    for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  }
  return {{"token", names_.name(id, begins)},
          {"logprob", finite(log_probability)},
          {"bytes", std::move(numbers)}};
}

void TokenReport::put_completion(const ReportedToken& token, bool begins) {
  if (pending_.is_null())
    pending_ = {{"tokens", Json::array()},
                {"token_logprobs", Json::array()},
                {"top_logprobs", Json::array()},
                {"text_offset", Json::array()}};
  pending_["tokens"].push_back(names_.name(token.id, begins));
  pending_["text_offset"].push_back(characters_);
  if (!token.log_probability) {
    pending_["token_logprobs"].push_back(nullptr);
    pending_["top_logprobs"].push_back(nullptr);
    return;
  }
  pending_["token_logprobs"].push_back(finite(*token.log_probability));
  // The chosen token is always among them. If two tokens have the same name, the likelier one counts.
  Json likeliest = {{names_.name(token.id, begins), finite(*token.log_probability)}};
  for (const TokenScore& each : token.likeliest) {
    const std::string name = names_.name(each.token, begins);
    const double score = finite(each.log_probability);
    if (!likeliest.contains(name) || likeliest[name] < score) likeliest[name] = score;
  }
  pending_["top_logprobs"].push_back(std::move(likeliest));
}

Json TokenReport::take() {
  return std::exchange(pending_, Json());
}

}  // namespace attend::serve
