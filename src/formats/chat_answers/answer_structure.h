// What an answer with tools may look like, as a structural tag: the form that holds generated text to it.
#pragma once

#include "formats/chat_answers/answer_format.h"

namespace attend {

enum class ToolChoice { automatic, required };

struct AnswerRules {
  ToolChoice choice = ToolChoice::automatic;
  bool parallel = true;       // several calls in one answer
  bool in_reasoning = false;  // the prompt has opened it
  Json content = nullptr;     // the JSON schema of an answer that is not a call; null: any text
};

// `tools`: a list of tools as in OpenAI's API. The arguments of a call are held to the tool's parameters, or
// to any JSON object if the tool says "strict": false. The text before a call is free.
Json answer_structure(const AnswerFormat& format, const Json& tools, const AnswerRules& rules);

// The name of a tool, and the JSON schema of its arguments.
std::string tool_name(const Json& tool);
Json tool_schema(const Json& tool);

}  // namespace attend
