// The verb that needs a library of HTTP, in attend-serving.so, which stands on libattend.
#include "cli/verb.h"

#include <string_view>

namespace attend::cli {

int serve(int argc, char** argv);

extern "C" RunVerb attend_find_module_verb(const char* name) {
  return std::string_view(name) == "serve" ? serve : nullptr;
}

}  // namespace attend::cli
