// Every family there is. A new one is a file beside this one and a line in each list here.
#include "base/error.h"
#include "models/family.h"

namespace attend {

extern const Family albert, bart, bert, ctrl, distilbert, electra, gpt2, gpt_neo, gptj, m2m_100, marian,
    openai_gpt, roberta, xlm_roberta;

std::span<const Family* const> families() {
  static constexpr const Family* all[] = {&albert,  &bart,       &bert,    &ctrl,       &distilbert,
                                          &electra, &gpt2,       &gpt_neo, &gptj,       &m2m_100,
                                          &marian,  &openai_gpt, &roberta, &xlm_roberta};
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
