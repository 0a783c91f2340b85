// Conversations to learn from, and pairs of answers to compare, as trl reads them: JSON lines.
#pragma once

#include <attend/tasks.h>

#include "formats/json/json.h"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attend {

using Messages = std::vector<ChatMessage>;

struct TaughtConversation {
  Messages messages;
  Json variables;  // of the chat template: an object with tools, documents and chat_template_kwargs
};

// An answer that is better than another one.
struct Preference {
  using Part = std::variant<std::string, Messages>;  // all three are texts, or all are lists of messages
  Part prompt, chosen, rejected;
  Json variables;
};

// Calls `take` for every conversation of the files: objects with "messages" and optionally "tools" and
// "documents" (lists, or their JSON as text) and "chat_template_kwargs" (an object). Other fields are
// ignored. A row is bad (bad_rows.h) if it is not such an object, or if `take` throws an Error, whose message
// need not contain the place.
void read_conversations(const std::vector<std::string>& files,
                        const std::function<void(const TaughtConversation&)>& take);

// The same for objects with "prompt", "chosen" and "rejected". Without "prompt", the prompt is the messages
// that both others begin with.
void read_preferences(const std::vector<std::string>& files,
                      const std::function<void(const Preference&)>& take);

}  // namespace attend
