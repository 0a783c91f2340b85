// The model: an encoder, a decoder or both, and a head, built from a ModelSpec.
#pragma once

#include "nn/heads.h"
#include "nn/span_search.h"
#include "nn/stack.h"

#include <functional>

namespace attend {

// Hidden states [T, d], the batch whose rows they are, and which adapters these have (Pass::adapters).
struct HiddenText {
  Tensor hidden;
  TokenBatch batch;
  std::shared_ptr<const AdapterChoice> adapters;
};

// Any number of threads may run it at a time, as long as no thread changes it.
class TransformerImpl : public Module {
 public:
  explicit TransformerImpl(const ModelSpec& spec);

  const ModelSpec& spec() const { return spec_; }
  bool is_encoder_decoder() const { return spec_.encoder && spec_.decoder; }

  bool reads_images() const { return spec_.encoder && spec_.encoder->patches; }

  // [T] ids -> [T, d]. `memory`: what an encoder with a cross-attention reads. Virtual tokens of prompts
  // stand before the texts meanwhile, unless they are in the batch or, decoding, in the cache.
  Tensor encode(const TokenBatch& batch, Pass& pass, const EncoderMemory* memory = nullptr);
  Tensor encode(const ImageBatch& images, Pass& pass);
  // The stack that reads a text, encode() if there is one, with the rows of virtual tokens.
  HiddenText read(const TokenBatch& batch, Pass& pass);
  // What decode() reads of a text that is yet to be encoded, its virtual tokens included.
  EncoderMemory remember(const TokenBatch& source, Pass& pass);
  // What decode() reads of an encoded batch.
  EncoderMemory remember(const Tensor& encoded, const Offsets& offsets, Pass& pass) {
    return decoder->remember(bridged(encoded, pass), offsets, pass);
  }
  // An encoder's result as wide as the decoder's keys and values want it.
  Tensor bridged(const Tensor& encoded, Pass& pass) { return bridge ? bridge(encoded, pass) : encoded; }
  Tensor decode(const TokenBatch& batch, Pass& pass, const EncoderMemory* memory = nullptr,
                const CacheUse* cache = nullptr);

  // May the parameter of this name be kept in this format alone? It may if it is the matrix of a Linear (in
  // fewer bits: of one with some outputs); or, with `tables`, a head's over the vocabulary, or a table of
  // tokens, in float32 only if it is the head's too.
  bool is_packable(const std::string& parameter, WeightFormat format, bool tables = true) const;
  // Has all that read this parameter, which is_packable, read the matrix in its place.
  void pack(const std::string& parameter, const std::shared_ptr<const PackedMatrix>& matrix);
  // What stands in the parameter's place; null: nothing does.
  const PackedMatrix* packed(const std::string& parameter) const;
  // Packs what is multiplied by and stays beside its packed copy, which would otherwise happen when it is
  // first used; calls `after_each` behind each matrix.
  void prepare(const std::function<void()>& after_each);

  // Null where the spec has none.
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
