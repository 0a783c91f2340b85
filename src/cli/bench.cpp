#include "base/error.h"
#include "cli/verb.h"
namespace attend::cli {
int bench(int, char**) { fail("not built yet"); }
}  // namespace attend::cli
