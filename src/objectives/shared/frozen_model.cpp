#include "objectives/shared/frozen_model.h"

#include <algorithm>

namespace attend {
namespace {

// Scores of both models are compared token by token.
void check_tokens(const Tokenizer& learns, const Tokenizer& frozen, const std::string& given) {
  const std::size_t ours = learns.vocabulary_size(), theirs = frozen.vocabulary_size();
  for (std::size_t i = 0; i < std::max(ours, theirs); ++i) {
    const auto id = static_cast<TokenId>(i);
    const auto a = learns.id_to_token(id), b = frozen.id_to_token(id);
    if (a != b)
      fail("{}: expected the model's tokens, found \"{}\" where the model has \"{}\" (id {})", given,
           b.value_or(""), a.value_or(""), id);
  }
}

const EmbeddingSpec& top_embeddings(const ModelSpec& spec) {
  return (spec.decoder ? *spec.decoder : *spec.encoder).embeddings;
}

}  // namespace

PretrainedModel load_frozen(const Setting& setting, const ObjectiveKind& kind,
                            const std::filesystem::path& path, const char* option) {
  const std::string given = fmt::format("{} {}", option, path.string());
  const ModelDirectory directory(on_device_of(setting.recipe.model, path));
  const Family& family = find_family(directory.config());
  const std::vector<std::string> own = directory.architectures();
  PretrainedModel model = PretrainedModel::load(
      directory,
      {.architecture = architecture_for(family, kind.head, own.empty() ? std::string() : own.front()),
       .packs = false});  // losses read the matrix of the vocabulary itself
  const ModelSpec &theirs = model.network()->spec(), &ours = setting.spec;
  if (!theirs.encoder != !ours.encoder || !theirs.decoder != !ours.decoder)
    fail("{}: expected the stacks that the model has: an encoder, a decoder or both", given);
  if (theirs.language_model_head && top_embeddings(theirs).vocabulary != top_embeddings(ours).vocabulary)
    fail("{}: expected the model's vocabulary of {} tokens, found {}", given, top_embeddings(ours).vocabulary,
         top_embeddings(theirs).vocabulary);
  if (setting.tokenizers.source) {
    const TokenizerPair others = TokenizerPair::from_file(directory.path());
    check_tokens(*setting.tokenizers.source, *others.source, given);
    check_tokens(*setting.tokenizers.target, *others.target, given);
  }
  return model;
}

Pass frozen_pass(const Pass& pass) {
  Pass reading = Pass::inference();
  reading.gradients = false;
  reading.bfloat16 = pass.bfloat16;
  return reading;
}

}  // namespace attend
