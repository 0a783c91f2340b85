// Which version of Attend these headers are of. Programs compiled with one minor version run with its
// patches: libattend's name for the linker (SONAME) carries the major and the minor number.
#pragma once

#define ATTEND_VERSION_MAJOR 0
#define ATTEND_VERSION_MINOR 1
#define ATTEND_VERSION_PATCH 0
#define ATTEND_VERSION "0.1.0"

#include <attend/export.h>

namespace attend {

// ATTEND_VERSION of the library that runs.
ATTEND_API const char* version();

}  // namespace attend
