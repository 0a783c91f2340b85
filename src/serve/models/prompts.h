// The input of models in requests: prompts and messages.
#pragma once

#include "serve/http/endpoint.h"
#include "serve/models/served_model.h"

namespace attend::serve {

RequestField prompt_field();
// The parts of a conversation: its messages, tools, and other variables of the chat template.
RequestFields chat_fields();

// Texts or tokens: one or several. Error for more than `most`.
std::vector<QueueRequest> read_prompts(const Fields& body, std::size_t max);
// The conversation of chat_fields().
QueueRequest read_chat(const Fields& body);

}  // namespace attend::serve
