// The heads on top of a stack: scores over a vocabulary or over labels.
#pragma once

#include "nn/layers/embeddings.h"
#include "nn/layers/feed_forward.h"
#include "nn/layers/norm.h"
#include "nn/linear/linear.h"
#include "nn/losses/loss.h"
#include "nn/pass/ragged.h"

namespace attend {

class LanguageModelHeadImpl : public Module {
 public:
  // `width`: of the hidden states. The embedding matrix [V, d] is also the head's matrix unless the spec says
  // untied; a transform goes from width to d.
  LanguageModelHeadImpl(const LanguageModelHeadSpec& spec, std::int64_t width, const Embeddings& embeddings);
  Tensor forward(const Tensor& hidden, Pass& pass);  // [T, width] -> [T, V]; with clusters log-probabilities
  // The loss against labels [T], without all scores in memory at once. Rows whose label does not count skip
  // the transform and the matrix: for a masked language model these are five of six rows.
  LossSum loss(const Tensor& hidden, const Tensor& labels, const LossOptions& options, Pass& pass);
  // whether it is the head's matrix
  bool reads(const Tensor& weight) const { return weight_.is_same(weight); }
  // Computes scores with this matrix from here on.
  void pack(const std::shared_ptr<const PackedMatrix>& matrix) { packed_.replace(matrix); }
  const PackedMatrix* packed() const { return packed_.replacement().get(); }  // null: none

  std::vector<MatrixAdapter> adapters;  // of a matrix of its own (untied)

 private:
  Tensor transform(const Tensor& hidden, Pass& pass);

  LanguageModelHeadSpec spec_;
  Linear dense_{nullptr};
  LayerNorm norm_{nullptr};
  ClusterHead clusters_{nullptr};
  Tensor weight_, bias_;
  PackedWeight packed_;
};
ATTEND_MODULE(LanguageModelHead);

// activation(W x + b) of each sequence's first token: [T, d] -> [B, pooled width] (Devlin et al. 2018).
class PoolerImpl : public Module {
 public:
  PoolerImpl(std::int64_t width, std::int64_t pooled_width, Activation activation);
  Tensor forward(const Tensor& hidden, const Offsets& offsets, Pass& pass);

 private:
  Activation activation_;
  Linear dense_{nullptr};
};
ATTEND_MODULE(Pooler);

// Scores over labels: [n, d] -> [n, labels].
class ScoreHeadImpl : public Module {
 public:
  ScoreHeadImpl(const ScoreHeadSpec& spec, std::int64_t width);
  Tensor forward(const Tensor& rows, Pass& pass);
  const ScoreHeadSpec& spec() const { return spec_; }

 private:
  ScoreHeadSpec spec_;
  Linear dense_{nullptr}, out_{nullptr};
  FeedForward block_{nullptr};
  LayerNorm block_norm_{nullptr}, dense_norm_{nullptr};
};
ATTEND_MODULE(ScoreHead);

// The pixels of an image from its patches' hidden states [B, rows * columns, d]: [B, channels, rows * stride,
// columns * stride].
class PixelHeadImpl : public Module {
 public:
  PixelHeadImpl(const PixelHeadSpec& spec, std::int64_t width);
  Tensor forward(const Tensor& patches, std::int64_t rows, std::int64_t columns);
  const PixelHeadSpec& spec() const { return spec_; }

 private:
  PixelHeadSpec spec_;
  Tensor weight_, bias_;  // shaped like a convolution's: [stride^2 channels, d, 1, 1]
};
ATTEND_MODULE(PixelHead);

}  // namespace attend
