// All families. A new family needs its own file and a line here.
#include "base/error.h"
#include "models/families/family.h"

namespace attend {

#define ATTEND_FAMILIES(FAMILY)  \
  FAMILY(albert)                 \
  FAMILY(attend_gpt3)            \
  FAMILY(bart)                   \
  FAMILY(bert)                   \
  FAMILY(big_bird)               \
  FAMILY(biogpt)                 \
  FAMILY(blenderbot)             \
  FAMILY(blenderbot_small)       \
  FAMILY(bloom)                  \
  FAMILY(camembert)              \
  FAMILY(codegen)                \
  FAMILY(cohere)                 \
  FAMILY(ctrl)                   \
  FAMILY(data2vec_text)          \
  FAMILY(deberta)                \
  FAMILY(deberta_v2)             \
  FAMILY(distilbert)             \
  FAMILY(electra)                \
  FAMILY(encoder_decoder)        \
  FAMILY(ernie)                  \
  FAMILY(falcon)                 \
  FAMILY(gemma)                  \
  FAMILY(gemma2)                 \
  FAMILY(gemma3_text)            \
  FAMILY(gpt2)                   \
  FAMILY(gpt_neo)                \
  FAMILY(gpt_neox)               \
  FAMILY(gpt_oss)                \
  FAMILY(gptj)                   \
  FAMILY(granite)                \
  FAMILY(gte)                    \
  FAMILY(jina_bert)              \
  FAMILY(llama)                  \
  FAMILY(m2m_100)                \
  FAMILY(marian)                 \
  FAMILY(mbart)                  \
  FAMILY(megatron_bert)          \
  FAMILY(mistral)                \
  FAMILY(mixtral)                \
  FAMILY(modernbert)             \
  FAMILY(mpnet)                  \
  FAMILY(mpt)                    \
  FAMILY(mt5)                    \
  FAMILY(nomic_bert)             \
  FAMILY(olmo2)                  \
  FAMILY(olmo3)                  \
  FAMILY(olmoe)                  \
  FAMILY(openai_gpt)             \
  FAMILY(opt)                    \
  FAMILY(pegasus)                \
  FAMILY(phi)                    \
  FAMILY(phi3)                   \
  FAMILY(plbart)                 \
  FAMILY(qwen2)                  \
  FAMILY(qwen2_moe)              \
  FAMILY(qwen3)                  \
  FAMILY(qwen3_moe)              \
  FAMILY(roberta)                \
  FAMILY(roberta_prelayernorm)   \
  FAMILY(roformer)               \
  FAMILY(smollm3)                \
  FAMILY(stablelm)               \
  FAMILY(starcoder2)             \
  FAMILY(t5)                     \
  FAMILY(transfo_xl)             \
  FAMILY(umt5)                   \
  FAMILY(vision_encoder_decoder) \
  FAMILY(vit)                    \
  FAMILY(vit_msn)                \
  FAMILY(xglm)                   \
  FAMILY(xlm)                    \
  FAMILY(xlm_roberta)            \
  FAMILY(xlm_roberta_xl)         \
  FAMILY(xlnet)

#define DECLARE(name) extern const Family name;
#define ADDRESS(name) &name,
ATTEND_FAMILIES(DECLARE)

std::span<const Family* const> families() {
  static constexpr const Family* all[] = {ATTEND_FAMILIES(ADDRESS)};
  return all;
}

namespace {

const Family* known_family(std::string_view model_type) {
  for (const Family* family : families())
    if (family->model_type == model_type) return family;
  return nullptr;
}

std::string known() {
  std::string names;
  for (const Family* family : families())
    names += (names.empty() ? "" : ", ") + std::string(family->model_type);
  return names;
}

}  // namespace

const Family& find_family(std::string_view model_type) {
  if (const Family* family = known_family(model_type)) return *family;
  fail("unknown model type \"{}\"; the known ones are {}", model_type, known());
}

const Family* known_family(const Fields& config) {
  const std::string model_type = config.text({"model_type"}, "");
  // JinaBERT's files say that they are BERT's, but with ALiBi, which BERT does not have.
  const bool is_jina = model_type == "bert" && config.text({"position_embedding_type"}, "") == "alibi";
  return known_family(is_jina ? "jina_bert" : model_type);
}

const Family& find_family(const Fields& config) {
  const std::string model_type = config.text({"model_type"});
  if (const Family* family = known_family(config)) return *family;
  fail("{}: model_type: unknown type \"{}\"; the known ones are {}", config.source(), model_type, known());
}

}  // namespace attend
