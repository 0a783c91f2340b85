#include <attend/version.h>

namespace attend {

const char* v1::version() {
  return ATTEND_VERSION;
}

}  // namespace attend
