#include "nn/transformer/transformer.h"

namespace attend {
namespace {

// The module that a parameter belongs to (null: none), and its name there.
std::pair<Module*, std::string> owner_of(const Module& model, const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  if (dot == parameter.npos) return {};
  const auto modules = model.named_modules("", /*include_self=*/false);
  const auto* const found = modules.find(parameter.substr(0, dot));
  return {found ? found->get() : nullptr, parameter.substr(dot + 1)};
}

std::optional<PromptedBatch> behind_prompts(const StackImpl& stack, const TokenBatch& batch,
                                            const Pass& pass) {
  return prompted(stack.embeddings->prompts, stack.spec().embeddings.vocabulary, batch, pass.adapters);
}

// forward(batch), with virtual tokens before the given texts; their rows are not in the result.
Tensor with_prompts(StackImpl& stack, const TokenBatch& batch, Pass& pass, const auto& forward) {
  const auto all = behind_prompts(stack, batch, pass);
  if (!all) return forward(batch);
  const AdapterScope scope(pass, all->adapters);
  return forward(all->batch).index_select(0, all->rows);
}

}  // namespace

TransformerImpl::TransformerImpl(const ModelSpec& spec) : spec_(spec) {
  if (spec.encoder) encoder = register_module("encoder", Stack(*spec.encoder));
  if (spec.decoder)
    decoder = register_module("decoder",
                              Stack(*spec.decoder, encoder && encoder->embeddings && spec.share_embeddings
                                                       ? encoder->embeddings->tokens
                                                       : Tensor()));
  Stack& top = decoder ? decoder : encoder;
  const std::int64_t width = top->spec().result_width();
  if (spec.pooler)
    pooler = register_module("pooler", Pooler(width, spec.pooled_width, spec.pooler_activation));
  if (spec.language_model_head)
    language_model_head = register_module(
        "language_model_head", LanguageModelHead(*spec.language_model_head, width, top->embeddings));
  if (spec.score_head) score_head = register_module("score_head", ScoreHead(*spec.score_head, width));
  if (spec.span_search) span_search = register_module("span_search", SpanSearch(*spec.span_search, width));
  if (spec.bridge)
    bridge = register_module("bridge", Linear(encoder->spec().width(), decoder->spec().width()));
  if (spec.pixel_head) pixel_head = register_module("pixel_head", PixelHead(*spec.pixel_head, width));
}

Tensor TransformerImpl::encode(const TokenBatch& batch, Pass& pass, const CrossAttentionKV* memory) {
  const PassScope scope(pass);
  return with_prompts(*encoder, batch, pass, [&](const TokenBatch& all) {
    return encoder->forward(all, pass, memory, nullptr, pass.capture ? &pass.capture->encoder : nullptr);
  });
}

HiddenText TransformerImpl::read(const TokenBatch& batch, Pass& pass) {
  StackImpl& stack = encoder ? *encoder : *decoder;
  const auto all = behind_prompts(stack, batch, pass);
  const AdapterScope scope(pass, all ? all->adapters : pass.adapters);
  const TokenBatch& whole = all ? all->batch : batch;
  return {encoder ? encode(whole, pass) : decode(whole, pass), whole, pass.adapters};
}

CrossAttentionKV TransformerImpl::project_kv(const TokenBatch& source, Pass& pass) {
  const HiddenText text = read(source, pass);
  const AdapterScope scope(pass, text.adapters);
  return project_kv(text.hidden, text.batch.offsets, pass);
}

Tensor TransformerImpl::encode(const ImageBatch& images, Pass& pass) {
  const PassScope scope(pass);
  return encoder->forward(images, pass, pass.capture ? &pass.capture->encoder : nullptr);
}

Tensor TransformerImpl::decode(const TokenBatch& batch, Pass& pass, const CrossAttentionKV* memory,
                               const CacheUse* cache) {
  const PassScope scope(pass);
  Capture::Stack* const capture = pass.capture ? &pass.capture->decoder : nullptr;
  if (cache != nullptr) return decoder->forward(batch, pass, memory, cache, capture);
  return with_prompts(*decoder, batch, pass, [&](const TokenBatch& all) {
    return decoder->forward(all, pass, memory, nullptr, capture);
  });
}

bool TransformerImpl::is_packable(const std::string& parameter, WeightFormat format, bool tables) const {
  constexpr std::int64_t kFewOutputs = 16;  // smaller ones are heads over labels, whose size does not matter
  const bool exact = format == WeightFormat::float32;
  const auto [owner, own_name] = owner_of(*this, parameter);
  if (owner == nullptr) return false;
  if (auto* const matrix = owner->as<LinearImpl>())
    return own_name == "weight" && (exact || (!matrix->stays_float && matrix->weight.size(0) >= kFewOutputs));
  if (!tables) return false;
  if (auto* const embeddings = owner->as<EmbeddingsImpl>())
    return own_name == "tokens" &&
           (!exact || (language_model_head && language_model_head->reads(embeddings->tokens)));
  return owner->as<LanguageModelHeadImpl>() && own_name == "weight";
}

void TransformerImpl::pack(const std::string& parameter, const std::shared_ptr<const PackedMatrix>& matrix) {
  const auto [owner, own_name] = owner_of(*this, parameter);
  if (auto* const linear = owner->as<LinearImpl>()) return linear->pack(matrix);
  Tensor table = owner->named_parameters(/*recurse=*/false)[own_name];
  for (Stack stack : {encoder, decoder})
    if (stack && stack->embeddings && stack->embeddings->tokens.is_same(table))
      stack->embeddings->packed_tokens = matrix;
  if (language_model_head && language_model_head->reads(table)) language_model_head->pack(matrix);
  release(table);
}

const PackedMatrix* TransformerImpl::packed(const std::string& parameter) const {
  const auto [owner, own_name] = owner_of(*this, parameter);
  if (owner == nullptr) return nullptr;
  if (auto* const linear = owner->as<LinearImpl>()) return own_name == "weight" ? linear->packed() : nullptr;
  if (auto* const embeddings = owner->as<EmbeddingsImpl>())
    return own_name == "tokens" ? embeddings->packed_tokens.get() : nullptr;
  auto* const head = owner->as<LanguageModelHeadImpl>();
  return head != nullptr && own_name == "weight" ? head->packed() : nullptr;
}

void TransformerImpl::prepare(const std::function<void()>& after_each) {
  for (const auto& module : modules()) {
    if (auto* const clusters = module->as<ClusterHeadImpl>()) clusters->prepare(after_each);
    if (auto* const patches = module->as<PatchEmbeddingsImpl>()) patches->prepare();
  }
  after_each();
}

}  // namespace attend
