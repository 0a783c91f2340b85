#include "nn/transformer.h"

#include <cmath>

namespace attend {

TransformerImpl::TransformerImpl(const ModelSpec& spec) : spec_(spec) {
  if (spec.encoder) encoder = register_module("encoder", Stack(*spec.encoder));
  if (spec.decoder)
    decoder = register_module(
        "decoder",
        Stack(*spec.decoder, encoder && spec.share_embeddings ? encoder->embeddings->tokens : Tensor()));
  Stack& top = decoder ? decoder : encoder;
  const std::int64_t width = top->spec().width();
  if (spec.pooler)
    pooler = register_module("pooler", Pooler(width, spec.pooled_width, spec.pooler_activation));
  if (spec.language_model)
    language_model_head =
        register_module("head", LanguageModelHead(*spec.language_model, width, top->embeddings));
  if (spec.scores) scores = register_module("scores", ScoreHead(*spec.scores, width));
  if (spec.spans) spans = register_module("spans", SpanSearch(*spec.spans, width));
  if (spec.pixels) pixels = register_module("pixels", PixelHead(*spec.pixels, width));
}

Tensor TransformerImpl::encode(const TokenBatch& batch, Pass& pass) {
  return encoder->forward(batch, pass, nullptr, nullptr, pass.capture ? &pass.capture->encoder : nullptr);
}

Tensor TransformerImpl::encode(const ImageBatch& images, Pass& pass) {
  return encoder->forward(images, pass, pass.capture ? &pass.capture->encoder : nullptr);
}

Tensor TransformerImpl::decode(const TokenBatch& batch, Pass& pass, const Memory* memory,
                               const CacheUse* cache) {
  return decoder->forward(batch, pass, memory, cache, pass.capture ? &pass.capture->decoder : nullptr);
}

void TransformerImpl::pack(const std::function<void()>& after_each) {
  if (language_model_head) {  // the largest matrix, while there is most room
    language_model_head->pack();
    after_each();
  }
  for (const auto& module : modules())
    if (auto* matrix = module->as<LinearImpl>()) {
      matrix->pack();
      after_each();
    }
}

std::int64_t TransformerImpl::head_size() const {
  return (spec_.encoder ? spec_.encoder : spec_.decoder)->layers.front().self_attention.head_size;
}

void TransformerImpl::initialize(std::uint64_t seed) {
  at::NoGradGuard no_grad;
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (auto& item : named_parameters()) {
    Tensor& p = item.value();
    if (!p.requires_grad()) continue;  // a constant
    const bool norm = item.key().find("norm.") != std::string::npos;
    if (p.dim() == 1) {
      p.fill_(norm && item.key().ends_with("weight") ? 1 : 0);
      continue;
    }
    const bool embedding = item.key().find("embeddings.") != std::string::npos;
    if (spec_.initialization == Initialization::normal) {
      p.normal_(0, spec_.initializer_range, generator);
    } else if (spec_.initialization == Initialization::fan_in) {
      p.normal_(0, embedding ? 1 : 1 / std::sqrt(static_cast<double>(p.size(1))), generator);
      if (item.key().ends_with("query_key_value.weight"))
        p.narrow(0, 0, p.size(0) / 3).div_(std::sqrt(static_cast<double>(head_size())));
      if (item.key().ends_with(".query.weight")) p.div_(std::sqrt(static_cast<double>(head_size())));
    } else if (embedding) {
      p.normal_(0, 1 / std::sqrt(static_cast<double>(p.size(1))), generator);
    } else {
      const double limit = std::sqrt(6.0 / static_cast<double>(p.size(0) + p.size(1)));
      p.uniform_(-limit, limit, generator);
    }
  }
  for (const Stack& stack : {encoder, decoder})
    if (stack && stack->embeddings && stack->embeddings->spec().padding_id >= 0)
      stack->embeddings->tokens[stack->embeddings->spec().padding_id].zero_();
}

}  // namespace attend
