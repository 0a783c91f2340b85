// The model: an encoder, a decoder or both, and a head, built from a ModelSpec.
#pragma once

#include "nn/transformer/heads.h"
#include "nn/transformer/span_search.h"
#include "nn/transformer/stack.h"

#include <functional>

namespace attend {

// Hidden states [T, d], the batch that their rows belong to, and their adapters (Pass::adapters).
struct HiddenText {
  Tensor hidden;
  TokenBatch batch;
  std::shared_ptr<const AdapterChoice> adapters;
};

// Any number of threads may run it concurrently, as long as no thread changes it.
class TransformerImpl : public Module {
 public:
  explicit TransformerImpl(const ModelSpec& spec);

  const ModelSpec& spec() const { return spec_; }
  bool is_encoder_decoder() const { return spec_.encoder && spec_.decoder; }

  bool reads_images() const { return spec_.encoder && spec_.encoder->patches; }

  // [T] ids -> [T, d]. `memory`: what an encoder with cross-attention reads. Virtual tokens of prompts are
  // added before the texts temporarily, unless they are in the batch or, when decoding, in the cache.
  Tensor encode(const TokenBatch& batch, Pass& pass, const CrossAttentionKV* memory = nullptr);
  Tensor encode(const ImageBatch& images, Pass& pass);
  // Runs the stack that reads a text (the encoder if there is one), with the rows of virtual tokens.
  HiddenText read(const TokenBatch& batch, Pass& pass);
  // What decode() reads, from a text that is not encoded yet, including its virtual tokens.
  CrossAttentionKV project_kv(const TokenBatch& source, Pass& pass);
  // What decode() reads, from an encoded batch.
  CrossAttentionKV project_kv(const Tensor& encoded, const Offsets& offsets, Pass& pass) {
    return decoder->project_kv(bridged(encoded, pass), offsets, pass);
  }
  // An encoder's result with the width that the decoder's cross-attention needs.
  Tensor bridged(const Tensor& encoded, Pass& pass) { return bridge ? bridge(encoded, pass) : encoded; }
  Tensor decode(const TokenBatch& batch, Pass& pass, const CrossAttentionKV* memory = nullptr,
                const CacheUse* cache = nullptr);

  // Whether the parameter of this name can be stored in this format only. It can if it is the matrix of a
  // Linear (quantized: only with more than a few outputs). With `tables` also a head's matrix over the
  // vocabulary, or a table of tokens, which in float32 must also be the head's.
  bool is_packable(const std::string& parameter, WeightFormat format, bool tables = true) const;
  // Makes all modules that read this parameter, which is_packable, use the matrix instead.
  void pack(const std::string& parameter, const std::shared_ptr<const PackedMatrix>& matrix);
  // The matrix that replaces the parameter; null: none.
  const PackedMatrix* packed(const std::string& parameter) const;
  // Packs the matrices that keep an unpacked copy, which otherwise happens on first use; calls `after_each`
  // after each matrix.
  void prepare(const std::function<void()>& after_each);

  // Null if the spec has none.
  Stack encoder{nullptr}, decoder{nullptr};
  Pooler pooler{nullptr};
  LanguageModelHead language_model_head{nullptr};
  ScoreHead score_head{nullptr};
  SpanSearch span_search{nullptr};
  PixelHead pixel_head{nullptr};
  Linear bridge{nullptr};

 private:
  ModelSpec spec_;
};
ATTEND_MODULE(Transformer);

}  // namespace attend
