// The version of these headers. A program compiled with one minor version runs with its patch releases:
// libattend's SONAME contains the major and the minor number.
#pragma once

#define ATTEND_VERSION_MAJOR 0
#define ATTEND_VERSION_MINOR 1
#define ATTEND_VERSION_PATCH 0
#define ATTEND_VERSION "0.1.0"

#include <attend/export.h>

namespace attend {
inline namespace v1 {

// ATTEND_VERSION of the library at run time.
ATTEND_API const char* version();

}  // namespace v1
}  // namespace attend
