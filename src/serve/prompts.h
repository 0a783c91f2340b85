// What requests give a model to go on with: prompts and messages.
#pragma once

#include "serve/endpoint.h"
#include "serve/served_model.h"

namespace attend::serve {

RequestField prompt_field();
// Of a conversation: its messages, tools, and what else the chat template reads.
RequestFields chat_fields();

// Texts or tokens: one or several. Error for more than `most`.
std::vector<QueueRequest> read_prompts(const Fields& body, std::size_t most);
// The conversation of chat_fields().
QueueRequest read_chat(const Fields& body);

}  // namespace attend::serve
