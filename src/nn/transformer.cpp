#include "nn/transformer.h"

namespace attend {

TransformerImpl::TransformerImpl(const ModelSpec& spec) : spec_(spec) {
  if (spec.encoder) encoder = register_module("encoder", Stack(*spec.encoder));
  if (spec.decoder)
    decoder = register_module("decoder",
                              Stack(*spec.decoder, encoder && encoder->embeddings && spec.share_embeddings
                                                       ? encoder->embeddings->tokens
                                                       : Tensor()));
  Stack& top = decoder ? decoder : encoder;
  const std::int64_t width = top->spec().width();
  if (spec.pooler)
    pooler = register_module("pooler", Pooler(width, spec.pooled_width, spec.pooler_activation));
  if (spec.language_model)
    language_model_head =
        register_module("head", LanguageModelHead(*spec.language_model, width, top->embeddings));
  if (spec.scores) scores = register_module("scores", ScoreHead(*spec.scores, width));
  if (spec.spans) spans = register_module("spans", SpanSearch(*spec.spans, width));
  if (spec.bridge)
    bridge = register_module("bridge", Linear(encoder->spec().width(), decoder->spec().width()));
  if (spec.pixels) pixels = register_module("pixels", PixelHead(*spec.pixels, width));
}

Tensor TransformerImpl::encode(const TokenBatch& batch, Pass& pass, const Memory* memory) {
  const PassScope scope(pass);
  return encoder->forward(batch, pass, memory, nullptr, pass.capture ? &pass.capture->encoder : nullptr);
}

Tensor TransformerImpl::encode(const ImageBatch& images, Pass& pass) {
  const PassScope scope(pass);
  return encoder->forward(images, pass, pass.capture ? &pass.capture->encoder : nullptr);
}

Tensor TransformerImpl::decode(const TokenBatch& batch, Pass& pass, const Memory* memory,
                               const CacheUse* cache) {
  const PassScope scope(pass);
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

}  // namespace attend
