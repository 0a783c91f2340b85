// The version of libtorch with which the module was compiled.
#include <attend/export.h>

#include <torch/version.h>

extern "C" ATTEND_API const char* attend_torch_version() {
#define ATTEND_TEXT(x) #x
#define ATTEND_VERSION_TEXT(major, minor) ATTEND_TEXT(major) "." ATTEND_TEXT(minor)
  return ATTEND_VERSION_TEXT(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR);
}
