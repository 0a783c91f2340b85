// What the library has to say beside its results. It prints nothing itself.
#pragma once

#include <attend/export.h>

#include <functional>
#include <string_view>

namespace attend {

// remark: about the work itself. warning: something to know although the work goes on.
enum class LogLevel { remark, warning };

// Where lines go from now on; nowhere until this is called, or for an empty handler. It is called from any
// thread, by one at a time, and must not call the library.
using LogHandler = std::function<void(LogLevel level, std::string_view line)>;
ATTEND_API void set_log(LogHandler handler);

// Remarks and warnings as lines of standard error, "attend: ...", and the progress of long work, which is
// then shown too, on its last line where that is a terminal: as the command does.
ATTEND_API void log_to_standard_error();

}  // namespace attend
