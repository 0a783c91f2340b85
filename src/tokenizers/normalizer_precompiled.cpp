#include "base/error.h"
#include "tokenizers/normalizer.h"

namespace attend::tokenizers {

std::unique_ptr<Normalizer> make_precompiled_normalizer(const Json&, const std::string& source) {
  fail("{}: the normalizer Precompiled is not supported yet", source);
}

}  // namespace attend::tokenizers
