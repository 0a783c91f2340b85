// What requests give a model to go on with: prompts and messages.
#pragma once

#include "serve/endpoint.h"
#include "serve/served_model.h"

namespace attend::serve {

RequestField prompt_field();
RequestField messages_field();

// Texts or tokens: one or several. Error for more than `most`.
std::vector<QueueRequest> read_prompts(const Fields& body, std::size_t most);
std::vector<ChatMessage> read_messages(const Fields& body);

}  // namespace attend::serve
