// Runs a program of the user's as a tool that a model calls.
#pragma once

#include <attend/tool_calls.h>

#include <string>

namespace attend::cli {

// Runs `command` in a shell, with the tool's name as its argument and the call's arguments, JSON, as its
// standard input. Returns what it writes; after a failure the exit status too, for the model to see.
std::string run_tool_command(const std::string& command, const ToolCall& call);

}  // namespace attend::cli
