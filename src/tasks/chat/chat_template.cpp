#include "tasks/chat/chat_template.h"

#include "base/error.h"
#include "base/python_text.h"
#include "tasks/chat/chat_template_files.h"
#include "tokenizers/files/tokenizer_config.h"

namespace attend {
namespace {

constexpr const char* kAdvice =
    R"(say how a turn is written, such as 'User: {user}\nBot: {bot}' (`template`))";

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

// Removes trailing bytes that are in `unwanted`.
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
  bool question = true, result = false;  // which parts may come next
  for (std::size_t i = first; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (result && message.role == "tool") {
      question = false;
      continue;
    }
    if (const char* role = question ? "user" : "assistant"; message.role != role)
      fail("message {}: expected one of {}, found one of '{}'", i + 1, role, message.role);
    result = !question && message.fields.find("\"tool_calls\"") != std::string::npos;
    question = !question;
  }
}

Json read_chat_variables(const std::string& text) {
  Json variables =
      Fields(parse_json(text, "the chat template's variables"), "the chat template's variables").json();
  if (variables.contains("messages")) fail("the chat template's variables: expected no messages among them");
  return variables;
}

ChatTemplate::ChatTemplate(const std::string& given, const std::filesystem::path& model) {
  const tokenizers::TokenizerConfig config(model);
  for (const char* role :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    if (std::string token = config.token(role, ""); !token.empty()) tokens_[role] = std::move(token);
  std::map<std::string, TemplateText> texts = read_chat_templates(model, config.fields());
  if (texts.contains(given)) {
    chosen_ = given;
  } else if (!given.empty()) {
    texts = {{"default", {given, "the template"}}};
    if (given.find("{{") == given.npos && given.find("{%") == given.npos) {
      plain_ = read_plain(without_escapes(given));
      return;
    }
  }
  if (texts.empty()) fail("{}: chat_template: there is none; {}", config.fields().source(), kAdvice);
  try {
    for (const auto& [name, text] : texts)
      templates_.emplace(name, Jinja{JinjaTemplate(text.text, text.source), text.text});
  } catch (const Error& error) {
    fail("{}; {}", error.what(), kAdvice);
  }
}

// As in transformers: the template with the given name; else the one for tools if there are tools, or the
// default.
const ChatTemplate::Jinja& ChatTemplate::choose(const Json& variables) const {
  std::string name = chosen_.empty() ? "default" : chosen_;
  const auto tools = variables.find("tools");
  if (chosen_.empty() && tools != variables.end() && !tools->is_null() && templates_.contains("tool_use"))
    name = "tool_use";
  const auto found = templates_.find(name);
  if (found != templates_.end()) return found->second;
  std::string names;
  for (const auto& each : templates_) names += (names.empty() ? "" : ", ") + each.first;
  fail("expected a chat template named default, found {}; name one of them with `template`", names);
}

std::string ChatTemplate::text(const Json& variables) const {
  return is_plain() ? "" : choose(variables).text;
}

ChatTemplate::Plain ChatTemplate::read_plain(const std::string& text) {
  const auto find = [&](const char* name, std::size_t from) { return text.find(name, from); };
  const std::size_t system = find("{system}", 0), user = find("{user}", 0), bot = find("{bot}", 0);
  if (user == text.npos || bot == text.npos || bot < user || (system != text.npos && system > user))
    fail(
        "the template: expected {{user}} and after it {{bot}}, optionally {{system}} before them, found "
        "'{}'; {}",
        text, kAdvice);
  Plain plain;
  std::size_t begin = 0;
  plain.after_system = "\n";
  if (system != text.npos) {
    plain.before_system = text.substr(0, system);
    // The line of {system} is separate; the rest belongs to the turn.
    const std::size_t after = system + std::string_view("{system}").size(), line = text.find('\n', after);
    begin = line < user ? line + 1 : after;
    plain.after_system = text.substr(after, begin - after);
  }
  plain.before_user = text.substr(begin, user - begin);
  const std::size_t between = user + std::string_view("{user}").size();
  plain.before_bot = text.substr(between, bot - between);
  plain.after_bot = text.substr(bot + std::string_view("{bot}").size());
  if (plain.after_bot.empty()) plain.after_bot = "\n";
  return plain;
}

JinjaTemplate::Rendered ChatTemplate::render(std::span<const ChatMessage> messages,
                                             const Json& variables) const {
  const auto flag = [&](const char* name, bool otherwise) {
    const auto found = variables.find(name);
    if (found == variables.end() || found->is_null()) return otherwise;
    if (!found->is_boolean()) fail("{}: expected true or false, found {}", name, shown(*found));
    return found->get<bool>();
  };
  const bool continues = flag("continue_final_message", false);
  const bool answer_follows = flag("add_generation_prompt", !continues);
  if (continues && answer_follows)
    fail("expected add_generation_prompt or continue_final_message, found both: an answer begins or goes on");
  if (is_plain()) {
    for (const auto& [name, value] : variables.items())
      if (name != "add_generation_prompt" && !value.is_null())
        fail("{}: a template of plain text knows only turns; use one in Jinja", name);
    return {render_plain(messages, answer_follows), {}};
  }
  Json all = {{"tools", nullptr}, {"documents", nullptr}};
  all.update(tokens_);
  all.update(variables);
  all.erase("continue_final_message");
  all["add_generation_prompt"] = answer_follows;
  all["messages"] = Json::array();
  for (const ChatMessage& message : messages)
    all["messages"].push_back(message.fields.empty()
                                  ? Json{{"role", message.role}, {"content", message.content}}
                                  : parse_json(message.fields, "a message"));
  if (continues) return {continued(std::move(all)), {}};
  return choose(all).compiled.render_marked(all);
}

// The text up to the end of the last message, which a mark there shows.
std::string ChatTemplate::continued(Json variables) const {
  static const std::string mark = "CONTINUE_FINAL_MESSAGE_TAG ", bare = mark.substr(0, mark.size() - 1);
  Json& messages = variables["messages"];
  Json* content = nullptr;
  if (!messages.empty() && messages.back().contains("content")) content = &messages.back()["content"];
  if (content != nullptr && content->is_array()) {
    Json* last = nullptr;
    for (Json& part : *content)
      if (part.is_object() && part.contains("text")) last = &part["text"];
    content = last;
  }
  if (content == nullptr || !content->is_string())
    fail("continue_final_message: expected a last message with a text to go on with");
  const std::string final_text = content->get<std::string>();
  *content = final_text + mark;
  const std::string text = choose(variables).compiled.render(variables);
  const std::size_t end = text.rfind(bare);
  if (end == text.npos || text.find(strip(final_text)) == text.npos)
    fail("continue_final_message: the template does not write the last message as it is");
  const std::string before = text.substr(0, end);
  return text.compare(end, mark.size(), mark) == 0 ? before : std::string(strip_end(before));
}

std::string ChatTemplate::render_plain(std::span<const ChatMessage> messages, bool answer_follows) const {
  std::string text;
  for (const ChatMessage& message : messages) {
    if (!message.fields.empty()) fail("a template of plain text knows only turns of text; use one in Jinja");
    if (message.role == "system")
      text += plain_.before_system + message.content + plain_.after_system;
    else if (message.role == "user")
      text += plain_.before_user + message.content;
    else
      text += plain_.before_bot + message.content + plain_.after_bot;
  }
  // Models generate the space before a word together with the word.
  return answer_follows ? text + without_end(plain_.before_bot, " ") : text;
}

std::string ChatTemplate::end_of_answer() const {
  const std::vector<ChatMessage> messages = {{"user", "(1)"}, {"assistant", "(2)"}, {"user", "(3)"}};
  const auto behind_answer = [&](std::size_t count) -> std::string {
    std::string text;
    try {
      text = prompt(std::span(messages).first(count), {{"add_generation_prompt", false}});
    } catch (const Error&) {  // the template rejects such a conversation; then the config defines the end of
                              // an answer
      return {};
    }
    const std::size_t answer = text.find("(2)");
    return answer == text.npos ? std::string() : text.substr(answer + 3);
  };
  if (const std::string end = trimmed(behind_answer(2)); !end.empty()) return end;
  const std::string next = behind_answer(3);
  return without_end(next.substr(0, next.find("(3)")), " ");
}

}  // namespace attend
