// What is special about a stack's attention, in a sentence that its page shows.
#pragma once

#include "nn/spec.h"

#include <string>

namespace attend {

std::string describe_attention(const StackSpec& stack, const AttentionSpec& attention);

}  // namespace attend
