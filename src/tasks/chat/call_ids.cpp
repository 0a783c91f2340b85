#include "tasks/chat/call_ids.h"

#include "base/error.h"

#include <algorithm>

namespace attend {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool has_nine_letters(const std::string& id) {
  return id.size() == 9 && std::ranges::all_of(id, [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

// "functions.f:0"
bool has_name_and_number(const std::string& id, const std::string& name) {
  const std::string begin = fmt::format("functions.{}:", name);
  return id.size() > begin.size() && id.starts_with(begin) &&
         std::all_of(id.begin() + static_cast<std::ptrdiff_t>(begin.size()), id.end(), is_digit);
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

void CallIdWriter::rewrite(Json& message) {
  if (ids_ == CallIds::any) return;
  if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array()) {
    open_.clear();
    for (Json& call : *calls)
      if (call.is_object()) rewrite_call(call);
  } else if (text_of(message, "role") == "tool") {
    std::string id = text_of(message, "tool_call_id");
    if (const auto given = given_.find(id); given != given_.end())
      id = given->second;
    else if (id.empty() && !open_.empty())
      id = open_.front();
    if (!id.empty()) message["tool_call_id"] = id;
    std::erase(open_, id);
  }
}

void CallIdWriter::rewrite_call(Json& call) {
  const std::string id = text_of(call, "id");
  const Json& function = call.contains("function") && call["function"].is_object() ? call["function"] : call;
  const std::string expected = expected_id(id, text_of(function, "name"));
  ++calls_;
  open_.push_back(expected);
  if (expected == id) return;
  call["id"] = expected;
  if (!id.empty()) given_[id] = expected;
}

std::string CallIdWriter::expected_id(const std::string& id, const std::string& name) {
  if (ids_ == CallIds::nine_letters) return has_nine_letters(id) ? id : fmt::format("{:09}", calls_);
  return has_name_and_number(id, name) ? id : fmt::format("functions.{}:{}", name, calls_);
}

}  // namespace attend
