#include "tasks/chat_template.h"

#include "base/error.h"
#include "base/file.h"
#include "tokenizers/files/tokenizer_config.h"

namespace attend {
namespace {

constexpr const char* kAdvice = R"(say how a turn is written, such as --template 'User: {user}\nBot: {bot}')";

struct TemplateSource {
  std::string text, name;
};

// The model's own template; empty text if there is none.
TemplateSource read_own(const std::filesystem::path& model, const Fields& config) {
  const std::filesystem::path file = model / "chat_template.jinja";
  if (file_exists(file)) return {read_file(file), file.string()};
  const std::string name = config.source() + ": chat_template";
  const auto own = config.json().find("chat_template");
  if (own == config.json().end() || own->is_null()) return {"", name};
  if (own->is_string()) return {own->get<std::string>(), name};
  if (own->is_array())  // several by name
    for (const Json& each : *own) {
      const Fields named(each, name);
      if (named.text({"name"}) == "default") return {named.text({"template"}), name};
    }
  fail("{}: expected a text, or a list with a template named default; {}", name, kAdvice);
}

std::string without_escapes(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = std::string_view(text).substr(i, 2);
    if (two == "\\n" || two == "\\t") {
      result += two == "\\n" ? '\n' : '\t';
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

// Up to the last byte that is none of `unwanted`.
std::string without_end(const std::string& text, const char* unwanted) {
  return text.substr(0, text.find_last_not_of(unwanted) + 1);
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  return first == text.npos ? "" : without_end(text.substr(first), " \t\n");
}

}  // namespace

void check_turns(std::span<const ChatMessage> messages) {
  const std::size_t first = begins_with_system(messages) ? 1 : 0;
  for (std::size_t i = first; i < messages.size(); ++i)
    if (const char* role = (i - first) % 2 == 0 ? "user" : "assistant"; messages[i].role != role)
      fail("message {}: expected one of {}, found one of '{}'", i + 1, role, messages[i].role);
}

ChatTemplate::ChatTemplate(const std::string& given, const std::filesystem::path& model) {
  const tokenizers::TokenizerConfig config(model);
  for (const char* role : {"bos_token", "eos_token", "unk_token", "pad_token"})
    tokens_[role] = config.token(role, "");
  const TemplateSource source =
      given.empty() ? read_own(model, config.fields()) : TemplateSource{given, "the template"};
  if (source.text.empty()) fail("{}: there is none; {}", source.name, kAdvice);
  if (source.text.find("{{") == source.text.npos && source.text.find("{%") == source.text.npos) {
    plain_ = read_plain(without_escapes(source.text));
    return;
  }
  try {
    jinja_.emplace(source.text, source.name);
    end_of_answer();  // reads every part that a conversation needs
  } catch (const Error& error) {
    fail("{}; {}", error.what(), kAdvice);
  }
}

ChatTemplate::Plain ChatTemplate::read_plain(const std::string& text) {
  const auto find = [&](const char* name, std::size_t from) { return text.find(name, from); };
  const std::size_t system = find("{system}", 0), user = find("{user}", 0), bot = find("{bot}", 0);
  if (user == text.npos || bot == text.npos || bot < user || (system != text.npos && system > user))
    fail("the template: expected {{user}} and behind it {{bot}}, perhaps {{system}} in front, found '{}'; {}",
         text, kAdvice);
  Plain plain;
  std::size_t begin = 0;
  plain.after_system = "\n";
  if (system != text.npos) {
    plain.before_system = text.substr(0, system);
    // The line of {system} is its own, the rest belongs to the turn.
    const std::size_t behind = system + std::string_view("{system}").size(), line = text.find('\n', behind);
    begin = line < user ? line + 1 : behind;
    plain.after_system = text.substr(behind, begin - behind);
  }
  plain.before_user = text.substr(begin, user - begin);
  const std::size_t between = user + std::string_view("{user}").size();
  plain.before_bot = text.substr(between, bot - between);
  plain.after_bot = text.substr(bot + std::string_view("{bot}").size());
  if (plain.after_bot.empty()) plain.after_bot = "\n";
  return plain;
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages, bool answer_follows) const {
  if (jinja_) {
    Json variables = tokens_;
    variables["add_generation_prompt"] = answer_follows;
    variables["messages"] = Json::array();
    for (const auto& [role, content] : messages)
      variables["messages"].push_back({{"role", role}, {"content", content}});
    return jinja_->render(variables);
  }
  std::string text;
  for (const auto& [role, content] : messages) {
    if (role == "system")
      text += plain_.before_system + content + plain_.after_system;
    else if (role == "user")
      text += plain_.before_user + content;
    else
      text += plain_.before_bot + content + plain_.after_bot;
  }
  // Models write the space in front of a word together with it.
  return answer_follows ? text + without_end(plain_.before_bot, " ") : text;
}

std::string ChatTemplate::end_of_answer() const {
  const std::vector<ChatMessage> messages = {{"user", "(1)"}, {"assistant", "(2)"}, {"user", "(3)"}};
  const auto behind_answer = [&](std::size_t count) {
    const std::string text = render(std::span(messages).first(count), false);
    const std::size_t answer = text.find("(2)");
    return answer == text.npos ? std::string() : text.substr(answer + 3);
  };
  if (const std::string end = trimmed(behind_answer(2)); !end.empty()) return end;
  const std::string next = behind_answer(3);
  return without_end(next.substr(0, next.find("(3)")), " ");
}

}  // namespace attend
