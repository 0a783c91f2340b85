#include "base/error.h"

namespace attend {
namespace {

thread_local ErrorKind kind_of_work = ErrorKind::call;

}  // namespace

ErrorScope::ErrorScope(ErrorKind kind) : before_(std::exchange(kind_of_work, kind)) {}
ErrorScope::~ErrorScope() {
  kind_of_work = before_;
}
ErrorKind ErrorScope::kind() {
  return kind_of_work;
}

Error::Error(const std::string& what) : Error(what, ErrorScope::kind()) {}

}  // namespace attend
