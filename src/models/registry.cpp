// Every family there is. A new one is a file beside this one and a line here.
#include "base/error.h"
#include "models/family.h"

namespace attend {

#define ATTEND_FAMILIES(FAMILY) \
  FAMILY(albert)                \
  FAMILY(bart)                  \
  FAMILY(bert)                  \
  FAMILY(ctrl)                  \
  FAMILY(distilbert)            \
  FAMILY(electra)               \
  FAMILY(gpt2)                  \
  FAMILY(gpt_neo)               \
  FAMILY(gptj)                  \
  FAMILY(m2m_100)               \
  FAMILY(marian)                \
  FAMILY(openai_gpt)            \
  FAMILY(roberta)               \
  FAMILY(vit)                   \
  FAMILY(xlm)                   \
  FAMILY(xlm_roberta)

#define DECLARE(name) extern const Family name;
#define ADDRESS(name) &name,
ATTEND_FAMILIES(DECLARE)

std::span<const Family* const> families() {
  static constexpr const Family* all[] = {ATTEND_FAMILIES(ADDRESS)};
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
