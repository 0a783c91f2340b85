// Every family there is. A new one is a file beside this one and a line in each list here.
#include "base/error.h"
#include "models/family.h"

namespace attend {

extern const Family bert, gpt2, marian;

std::span<const Family* const> families() {
  static constexpr const Family* all[] = {&bert, &gpt2, &marian};
  return all;
}

const Family& find_family(std::string_view model_type) {
  std::string known;
  for (const Family* family : families()) {
    if (family->model_type == model_type) return *family;
    known += (known.empty() ? "" : ", ") + std::string(family->model_type);
  }
  fail("the model type \"{}\" is not one that attend knows ({})", model_type, known);
}

}  // namespace attend
