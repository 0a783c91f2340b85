#include "cli/options/tool_command.h"

#include "base/error.h"
#include "base/utf8.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

namespace attend::cli {
namespace {

[[noreturn]] void run_in_shell(const std::string& command, const std::string& name, int input, int output) {
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  const std::string line = command + " \"$@\"";
  execl("/bin/sh", "sh", "-c", line.c_str(), "sh", name.c_str(), nullptr);
  _exit(127);
}

}  // namespace

std::string run_tool_command(const std::string& command, const ToolCall& call) {
  // A file, because a program need not read its input.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), std::fclose);
  std::array<int, 2> output = {};
  if (!input ||
      std::fwrite(call.arguments.data(), 1, call.arguments.size(), input.get()) < call.arguments.size() ||
      std::fflush(input.get()) != 0 || pipe(output.data()) != 0)
    fail("--tool-command: no pipe to {}: {}", command, std::generic_category().message(errno));
  std::rewind(input.get());
  const pid_t child = fork();
  if (child == 0) run_in_shell(command, call.name, fileno(input.get()), output[1]);
  close(output[1]);
  std::string text;
  std::array<char, 4096> buffer = {};
  for (ssize_t count = 0; child > 0 && (count = read(output[0], buffer.data(), buffer.size())) != 0;) {
    if (count > 0)
      text.append(buffer.data(), static_cast<std::size_t>(count));
    else if (errno != EINTR)
      break;
  }
  close(output[0]);
  int status = 0;
  if (child < 0)
    fail("--tool-command: no process for {}: {}", command, std::generic_category().message(errno));
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (const auto at = find_invalid_utf8(text))
    fail("--tool-command: the output of {} is not valid UTF-8 at byte {}", command, *at);
  while (text.ends_with('\n')) text.pop_back();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  const std::string how = WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                                            : fmt::format("signal {}", WTERMSIG(status));
  return text + (text.empty() ? "" : "\n") + "error: " + how;
}

}  // namespace attend::cli
