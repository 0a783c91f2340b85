#include "nn/transformer/shared_embeddings.h"

namespace attend {
namespace {

Embeddings first_embeddings(const Transformer& model) {
  return (model->encoder ? model->encoder : model->decoder)->embeddings;
}

// Parameters can only be replaced from within the class Module.
struct Parameters : Module {
  static Tensor& find(Module& module, const std::string& name) {
    return (module.*(&Parameters::parameters_))[name];
  }
};

// The head over the vocabulary holds the matrix that it is tied to, so it is built again with another one.
void renew_head(Transformer& model, const Embeddings& embeddings) {
  const ModelSpec& spec = model->spec();
  const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  LanguageModelHead head(*spec.language_model_head, stack.result_width(), embeddings);
  const auto old = model->language_model_head->named_parameters();
  for (auto& item : head->named_parameters()) {
    item.value().set_data(old[item.key()]);
    item.value().set_needs_gradient(old[item.key()].needs_gradient());
  }
  model->language_model_head = LanguageModelHead(model->replace_module("language_model_head", head.ptr()));
}

}  // namespace

std::vector<std::string> share_embeddings(const Transformer& from, Transformer to) {
  Embeddings theirs = first_embeddings(from), ours = first_embeddings(to);
  std::vector<std::string> shared;
  if (!theirs || !ours) return shared;  // of images
  const auto share = [&](const char* name, const Tensor& source, Tensor& own) {
    if (!source.defined() || !own.defined() || source.sizes() != own.sizes()) return;
    const auto mine = ours->named_parameters(/*recurse=*/false);
    if (!mine.contains(name) || !theirs->named_parameters(false).contains(name)) return;  // computed
    own = Parameters::find(*ours, name) = source;
    shared.emplace_back(name);
  };
  share("tokens", theirs->tokens, ours->tokens);
  share("positions", theirs->positions, ours->positions);
  share("types", theirs->types, ours->types);
  const bool tied = to->language_model_head && !to->spec().language_model_head->untied;
  if (!shared.empty() && shared.front() == "tokens" && tied) renew_head(to, ours);
  return shared;
}

}  // namespace attend
