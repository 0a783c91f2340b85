// Runs the user's program as a tool that a model calls.
#pragma once

#include <attend/tool_calls.h>

#include <string>

namespace attend::cli {

// Runs `command` in a shell, with the tool's name as its argument and the call's arguments, JSON, as its
// standard input. Returns its output; after a failure also the exit status, for the model to see.
std::string run_tool_command(const std::string& command, const ToolCall& call);

}  // namespace attend::cli
