#include "data/conversations.h"

#include "data/bad_rows.h"
#include "data/json_lines.h"
#include "data/lines.h"

#include <algorithm>

namespace attend {
namespace {

ChatMessage message_of(const Json& json, std::size_t number) {
  if (!json.is_object()) fail("message {}: expected an object with a role, found {}", number, shown(json));
  const auto role = json.find("role"), content = json.find("content");
  if (role == json.end() || !role->is_string())
    fail("message {}: role: expected a text, found {}", number, role == json.end() ? "none" : shown(*role));
  ChatMessage message{role->get<std::string>(), {}};
  if (content != json.end() && content->is_string()) message.content = content->get<std::string>();
  // A text message stays a single text, because plain-text templates support nothing else.
  const bool plain = json.size() == 2 && content != json.end() && content->is_string();
  if (!plain) message.fields = json.dump();
  return message;
}

Messages messages_of(const Json& json, const char* field) {
  if (!json.is_array() || json.empty()) fail("{}: expected a list of messages, found {}", field, shown(json));
  Messages messages;
  for (const Json& each : json) messages.push_back(message_of(each, messages.size() + 1));
  return messages;
}

const Json& field_of(const Json& row, const char* name) {
  const auto found = row.find(name);
  if (found == row.end() || found->is_null()) fail("expected a field {}, found none", name);
  return *found;
}

// A list, or its JSON as text: columnar data sets store lists with mixed items that way.
Json parsed_list(const Json& json, const char* field) {
  const Json list = json.is_string() ? parse_json(json.get<std::string>(), field) : json;
  if (!list.is_array()) fail("{}: expected a list, found {}", field, shown(json));
  return list;
}

Json variables_of(const Json& row) {
  Json variables = Json::object();
  if (const auto more = row.find("chat_template_kwargs"); more != row.end() && !more->is_null()) {
    if (!more->is_object()) fail("chat_template_kwargs: expected an object, found {}", shown(*more));
    variables = *more;
  }
  for (const char* name : {"messages", "add_generation_prompt", "continue_final_message"})
    if (variables.contains(name)) fail("chat_template_kwargs: expected no {} among them", name);
  for (const char* name : {"tools", "documents"})
    if (const auto found = row.find(name); found != row.end() && !found->is_null())
      variables[name] = parsed_list(*found, name);
  return variables;
}

Preference::Part part_of(const Json& row, const char* name) {
  const Json& json = field_of(row, name);
  if (json.is_string()) return json.get<std::string>();
  return messages_of(json, name);
}

bool same(const ChatMessage& a, const ChatMessage& b) {
  return a.role == b.role && a.content == b.content && a.fields == b.fields;
}

// Moves the messages that both begin with to the prompt.
void take_prompt(Preference& row) {
  auto *const chosen = std::get_if<Messages>(&row.chosen), *const rejected =
                                                               std::get_if<Messages>(&row.rejected);
  if (chosen == nullptr || rejected == nullptr)
    fail("prompt: expected a text or a list of messages, found none");
  const auto end = std::ranges::mismatch(*chosen, *rejected, same);
  const Messages prompt(chosen->begin(), end.in1);
  if (prompt.empty())
    fail("prompt: expected it, or messages with which chosen and rejected begin; found none");
  chosen->erase(chosen->begin(), end.in1);
  rejected->erase(rejected->begin(), end.in2);
  row.prompt = prompt;
}

bool is_empty(const Preference::Part& part) {
  return std::visit([](const auto& items) { return items.empty(); }, part);
}

Preference preference_of(const Json& row) {
  Preference result;
  result.chosen = part_of(row, "chosen");
  result.rejected = part_of(row, "rejected");
  if (const auto prompt = row.find("prompt"); prompt == row.end() || prompt->is_null())
    take_prompt(result);
  else
    result.prompt = part_of(row, "prompt");
  if (result.prompt.index() != result.chosen.index() || result.prompt.index() != result.rejected.index())
    fail("prompt, chosen and rejected: expected three texts or three lists of messages, found both");
  if (is_empty(result.chosen) || is_empty(result.rejected))
    fail("chosen and rejected: expected two answers, found one that is empty");
  result.variables = variables_of(row);
  return result;
}

void read_rows(const std::vector<std::string>& files, std::string expected,
               const std::function<void(const Json&)>& take) {
  BadRows bad(name_of_files(files), std::move(expected));
  for (const std::string& file : files)
    read_json_lines(file, bad, [&](const Json& row, const std::string& place) {
      try {
        if (!row.is_object()) fail("expected an object, found {}", shown(row));
        take(row);
      } catch (const Error& error) {
        fail("{}: {}", place, error.what());
      }
    });
  bad.report();
}

}  // namespace

void read_conversations(const std::vector<std::string>& files,
                        const std::function<void(const TaughtConversation&)>& take) {
  read_rows(files, "JSON lines with messages", [&](const Json& row) {
    take({messages_of(field_of(row, "messages"), "messages"), variables_of(row)});
  });
}

void read_preferences(const std::vector<std::string>& files,
                      const std::function<void(const Preference&)>& take) {
  read_rows(files, "JSON lines with prompt, chosen and rejected",
            [&](const Json& row) { take(preference_of(row)); });
}

}  // namespace attend
