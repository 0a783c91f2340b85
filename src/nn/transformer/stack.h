// A stack of Transformer layers over embeddings: an encoder or a decoder (Vaswani et al. 2017, section 3.1).
#pragma once

#include "nn/attention/attention.h"
#include "nn/layers/convolution.h"
#include "nn/layers/embeddings.h"
#include "nn/layers/experts.h"
#include "nn/layers/patch_embeddings.h"
#include "nn/layers/virtual_tokens.h"
#include "nn/pass/reading_groups.h"
#include "nn/transformer/recompute.h"

namespace attend {

// What a decoder's cross-attention reads: the keys and values of one encoded batch, computed once per layer.
struct CrossAttentionKV {
  std::vector<Tensor> key_values;  // per layer [Ts, 2 kw]
  Offsets offsets;
};

// Everything a layer needs besides its input. It owns its data, so that a layer can be computed again after
// the pass (Pass::recompute); only the cache and the captured weights have other owners.
struct LayerContext {
  std::int64_t layer = 0;
  Offsets offsets;
  std::shared_ptr<const KeyMask> visible = nullptr;        // null: all
  std::shared_ptr<const RotaryTables> rotaries = nullptr;  // null: none
  Tensor types = {};
  DistanceTable distances = {};
  Tensor past = {};
  std::vector<Tensor> before = {};  // [B] of [P, 2 kw], as in AttentionRows
  // The keys and values that a cross-attention reads. Undefined: they are in the cache; or, if it has no
  // sources, there is nothing to read and the sublayer is skipped.
  Tensor memory = {};
  Offsets memory_offsets = {};
  const CacheUse* cache = nullptr;
  AttentionCapture self_capture = {}, cross_capture = {};
  Tensor* routing = nullptr;  // receives the input of a RouterLoss; null: there is none

  AttentionRows rows() const {
    return {offsets, visible.get(), rotaries.get(), distances.rows.defined() ? &distances : nullptr,
            types,   past,          before};
  }
  // The tensors here through which gradients flow, if defined.
  std::vector<Tensor*> differentiable();
};

class LayerImpl : public Module {
 public:
  LayerImpl(std::int64_t width, const LayerSpec& spec);
  Tensor forward(const Tensor& x, const LayerContext& context, Pass& pass);  // [T, d] -> [T, d]
  Tensor project_kv(const Tensor& encoded, Pass& pass) { return cross_attention_->project_kv(encoded, pass); }
  const LinearImpl& kv_projection() const { return cross_attention_->kv_projection(); }

 private:
  Tensor forward_parallel(const Tensor& x, const LayerContext& c, Pass& pass);
  Tensor feed(const Tensor& in, const Tensor& residual, const LayerContext& c, Pass& pass);
  // x plus the result of `sublayer`(in, residual) = f(in) + residual (an undefined residual is left out),
  // with norms as the spec says. `result_norm`: the second norm of NormOrder::around.
  template <class Sublayer>
  Tensor around(LayerNorm& norm, LayerNorm& result_norm, const Tensor& x, const Sublayer& sublayer);

  LayerSpec spec_;
  SelfAttention self_attention_{nullptr};
  CrossAttention cross_attention_{nullptr};
  // One of the two exists.
  FeedForward feed_forward_{nullptr};
  Experts experts_{nullptr};
  LayerNorm self_attention_norm_{nullptr}, cross_attention_norm_{nullptr}, feed_forward_norm_{nullptr};
  LayerNorm attention_result_norm_{nullptr}, feed_forward_result_norm_{nullptr};
};
ATTEND_MODULE(Layer);

class StackImpl : public Module {
 public:
  // `tokens`: the embedding matrix of another stack, to be shared; or undefined.
  explicit StackImpl(const StackSpec& spec, const Tensor& tokens = {});

  // [T] ids -> [T, d]. With `cache`, room for the batch must have been made (PagedCache::extend). A
  // cross-attention reads `memory` or, if that is null, the cache.
  Tensor forward(const TokenBatch& batch, Pass& pass, const CrossAttentionKV* memory = nullptr,
                 const CacheUse* cache = nullptr, Capture::Stack* capture = nullptr);
  // The same for images, whose patches are the rows.
  Tensor forward(const ImageBatch& images, Pass& pass, Capture::Stack* capture = nullptr);

  // Computes the keys and values of an encoder's result for every layer's cross-attention.
  CrossAttentionKV project_kv(const Tensor& encoded, const Offsets& offsets, Pass& pass);
  // The same, written to sequences of a cache, for which room must have been made.
  void project_kv(const Tensor& encoded, const Offsets& offsets, PagedCache& cache,
                  const std::vector<PagedCache::Sequence>& sources, Pass& pass);

  // The number of rows before a text with this adapter (absent: of all adapters): of prefixes, and including
  // virtual tokens; and the number of tokens that are left for the text itself.
  std::int64_t prefix_length(std::optional<std::int64_t> adapter) const;
  std::int64_t virtual_rows(std::optional<std::int64_t> adapter) const {
    return prefix_length(adapter) + std::ssize(embeddings->prompt(adapter));
  }
  std::int64_t max_positions(std::optional<std::int64_t> adapter = {}) const {
    return embeddings->max_positions() - virtual_rows(adapter);
  }
  // Writes the prefix rows to an empty sequence of a cache.
  void begin(PagedCache& cache, PagedCache::Sequence sequence, std::optional<std::int64_t> adapter);

  // A layer's result as if it were the last layer: after the final norm and the back projection, if they
  // exist.
  Tensor result_of(const Tensor& x, Pass& pass);

  const StackSpec& spec() const { return spec_; }
  std::vector<KeyPrefix> prefixes;
  std::shared_ptr<LayerWeights> layer_weights;  // where the layers' weights are; null: in memory
  // One of the two exists.
  Embeddings embeddings{nullptr};
  PatchEmbeddings patches{nullptr};

 private:
  std::shared_ptr<LayerImpl> layer(std::size_t i);
  Tensor forward_together(const TokenBatch& batch, Pass& pass, const CrossAttentionKV* memory,
                          const CacheUse* cache, Capture::Stack* capture);
  Tensor forward_together(const ImageBatch& images, Pass& pass, Capture::Stack* capture);
  // The concatenated results of read(first text, count, pass) for all groups.
  Tensor read_in_groups(const ReadingGroups& groups, const Pass& pass,
                        const std::function<Tensor(std::int64_t, std::int64_t, Pass&)>& read);
  // x [T, d] with zeros for padding, if the stack needs that. `real`: the rows that are not padding; null:
  // all.
  Tensor without_padding(const Tensor& x, const Offsets& offsets, const KeyMask* real) const;
  bool has_layer_distances() const {
    const auto* bias = std::get_if<BucketedBias>(&spec_.distances);
    return bias && bias->per_layer;
  }
  // Everything after the embeddings x [T, d]. `past` as in TokenBatch.
  Tensor run_layers(Tensor x, LayerContext context, const CrossAttentionKV* memory,
                    const std::vector<Tensor>& past, const PassPrefixes& prefixes, Pass& pass,
                    Capture::Stack* capture);
  Tensor run_layer(std::size_t i, const Tensor& x, LayerContext context, Pass& pass);
  Tensor project_kv(std::size_t i, const Tensor& encoded, Pass& pass);
  // function(inputs, pass), which reads the parameters of `module`: recomputed in the backward pass, or not.
  Tensor with_weights(const Module& module, const Recomputable& function, const std::vector<Tensor>& inputs,
                      Pass& pass, bool recomputed);

  StackSpec spec_;
  // One for all layers, or one for each.
  Distances distances_{nullptr};
  ModuleList layer_distances_;
  Convolution convolution_{nullptr};
  ModuleList layers_;
  LayerNorm final_norm_{nullptr};
  Linear back_{nullptr};
};
ATTEND_MODULE(Stack);

}  // namespace attend
