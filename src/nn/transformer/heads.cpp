#include "nn/transformer/heads.h"

#include "nn/pass/dropout.h"

namespace attend {

LanguageModelHeadImpl::LanguageModelHeadImpl(const LanguageModelHeadSpec& spec, std::int64_t width,
                                             const Embeddings& embeddings)
    : spec_(spec) {
  if (spec.clusters) {
    clusters_ = register_module("clusters", ClusterHead(embeddings->clusters, spec.untied));
    return;
  }
  const Tensor& tokens = embeddings->tokens;
  const std::int64_t vocabulary = tokens.size(0);
  if (spec.transform) {
    dense_ = register_module("dense", Linear(width, tokens.size(1), spec.transform->bias));
    norm_ = register_module("norm", LayerNorm(tokens.size(1), spec.transform->norm));
  }
  weight_ = spec.untied ? register_parameter("weight", ops::empty(tokens.sizes())) : tokens;
  if (spec.bias) bias_ = register_parameter("bias", ops::zeros({vocabulary}));
}

Tensor LanguageModelHeadImpl::transform(const Tensor& hidden, Pass& pass) {
  if (spec_.transform) return norm_(dense_(hidden, pass, spec_.transform->activation));
  return spec_.scale == 1 ? hidden : hidden * spec_.scale;
}

Tensor LanguageModelHeadImpl::forward(const Tensor& hidden, Pass& pass) {
  if (clusters_) return clusters_(hidden);
  // Like a Linear: an unpacked matrix is unchanged, mapped from the file if memory is limited.
  const Tensor scores = adapted_linear(
      transform(hidden, pass), {weight_, bias_, packed() != nullptr ? &packed_ : nullptr, adapters}, pass);
  return spec_.soft_cap > 0 ? ops::tanh(scores / spec_.soft_cap) * spec_.soft_cap : scores;
}

LossSum LanguageModelHeadImpl::loss(const Tensor& all_hidden, const Tensor& all_labels,
                                    const LossOptions& options, Pass& pass) {
  const std::int64_t vocabulary = clusters_ ? clusters_->spec().ends.back() : weight_.size(0);
  if (all_labels.numel() != all_hidden.size(0))
    fail("expected a label for each of {} rows, found {}", all_hidden.size(0), all_labels.numel());
  const std::int64_t count = count_labels(all_labels, vocabulary, options);
  Tensor hidden = all_hidden, labels = all_labels;
  if (count < labels.numel()) {  // R-Drop's halves have the same labels, so they stay halves
    const Tensor rows = labels.ne(kIgnoredLabel).nonzero().squeeze(1);
    hidden = hidden.index_select(0, rows);
    labels = labels.index_select(0, rows);
  }
  // In these cases the gradient of the whole loss needs the matrix as it was.
  if (!adapters.empty() || spec_.soft_cap > 0 || (packed() != nullptr && recording()))
    return cross_entropy(forward(hidden, pass), labels, options);
  if (!clusters_)
    return linear_cross_entropy(transform(hidden, pass), weight_, bias_, labels, options, packed_);
  if (options.label_smoothing == 0 && options.r_drop == 0) return {clusters_->loss(hidden, labels), count};
  return cross_entropy(clusters_(hidden), labels, options);  // every token is needed
}

PoolerImpl::PoolerImpl(std::int64_t width, std::int64_t pooled_width, Activation activation)
    : activation_(activation) {
  dense_ = register_module("dense", Linear(width, pooled_width > 0 ? pooled_width : width));
}

Tensor PoolerImpl::forward(const Tensor& hidden, const Offsets& offsets, Pass& pass) {
  return dense_(hidden.index_select(0, offsets.first_rows()), pass, activation_);
}

ScoreHeadImpl::ScoreHeadImpl(const ScoreHeadSpec& spec, std::int64_t width) : spec_(spec) {
  const std::int64_t inner =
      spec.dense && spec.dense_matrix && spec.dense_width > 0 ? spec.dense_width : width;
  if (spec.dense && spec.dense_matrix)
    dense_ = register_module("dense", Linear(width, inner, spec.dense_bias));
  if (spec.dense_norm) dense_norm_ = register_module("dense_norm", LayerNorm(inner, *spec.dense_norm));
  if (spec.block) {
    block_ = register_module("block", FeedForward(width, spec.block->feed_forward));
    block_norm_ = register_module("block_norm", LayerNorm(width, spec.block->norm));
  }
  if (spec.last_matrix) out_ = register_module("out", Linear(inner, spec.labels, spec.bias));
}

Tensor ScoreHeadImpl::forward(const Tensor& rows, Pass& pass) {
  const PassScope scope(pass);
  Tensor x = rows;
  if (spec_.dense) {
    x = dropout(x, spec_.dense_dropout, pass);
    x = dense_ ? dense_(x, pass, *spec_.dense) : activate(x, *spec_.dense);
    if (dense_norm_) x = dense_norm_(x);
  }
  if (spec_.block)
    return out_(block_norm_(block_->forward(dropout(x, spec_.dropout, pass), x, spec_.block->dropout, pass)),
                pass);
  x = dropout(x, spec_.dropout, pass);
  return out_ ? out_(x, pass, spec_.last_activation) : activate(x, spec_.last_activation);
}

PixelHeadImpl::PixelHeadImpl(const PixelHeadSpec& spec, std::int64_t width) : spec_(spec) {
  const std::int64_t pixels = spec.stride * spec.stride * spec.channels;
  weight_ = register_parameter("weight", ops::empty({pixels, width, 1, 1}));
  bias_ = register_parameter("bias", ops::zeros({pixels}));
}

Tensor PixelHeadImpl::forward(const Tensor& patches, std::int64_t rows, std::int64_t columns) {
  const Tensor pixels = linear(patches.reshape({-1, patches.size(2)}), weight_.flatten(1), bias_, nullptr);
  const Tensor planes = pixels.reshape({patches.size(0), rows, columns, -1}).permute({0, 3, 1, 2});
  return ops::pixel_shuffle(planes, spec_.stride);
}

}  // namespace attend
