// The special features of a stack's attention, as a sentence for the page.
#pragma once

#include "nn/spec/spec.h"

#include <string>

namespace attend {

std::string describe_attention(const StackSpec& stack, const AttentionSpec& attention);

}  // namespace attend
