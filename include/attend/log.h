// Messages of the library. It prints nothing itself.
#pragma once

#include <attend/export.h>

#include <functional>
#include <string_view>

namespace attend {
inline namespace v1 {

// remark: information about the work. warning: a possible problem; the work continues.
enum class LogLevel { remark, warning };

// Sets the handler for log lines. The default, or an empty handler, drops them. The handler is called from
// any thread, by one thread at a time, and must not call the library.
using LogHandler = std::function<void(LogLevel level, std::string_view line)>;
ATTEND_API void set_log(LogHandler handler);

// Logs to standard error as the command does: "attend: ..." lines, and the progress of long work (on a
// terminal in its last line).
ATTEND_API void log_to_standard_error();

}  // namespace v1
}  // namespace attend
