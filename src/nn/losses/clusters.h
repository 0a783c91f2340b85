// Token vectors and scores by clusters of the vocabulary (ClusterSpec in spec.h).
#pragma once

#include "nn/linear/linear.h"
#include "nn/losses/loss.h"
#include "nn/spec/spec.h"

#include <functional>

namespace attend {

// Each cluster has vectors of its own width, which a matrix projects to the model's width (Baevski & Auli
// 2018, arXiv:1809.10853). With a divisor of 1 there is one table.
class ClusterEmbeddingsImpl : public Module {
 public:
  // `width`: of the first cluster's vectors; `model_width`: of the result.
  ClusterEmbeddingsImpl(const ClusterSpec& spec, std::int64_t width, std::int64_t model_width);
  Tensor forward(const Tensor& ids);  // [T] -> [T, model_width]

  const ClusterSpec& spec() const { return spec_; }
  std::vector<Tensor> tables;       // [tokens of the cluster, its width]
  std::vector<Tensor> projections;  // [model_width, width of the cluster]; undefined if not needed

 private:
  ClusterSpec spec_;
  std::int64_t model_width_;
};
ATTEND_MODULE(ClusterEmbeddings);

// Log-probabilities in two steps: a token of the first cluster or another cluster, then the token within that
// cluster (Grave et al. 2016, arXiv:1609.04309). The tables are those of the embeddings, unless `untied`; so
// are the matrices, except those that ClusterSpec::own_projections names.
class ClusterHeadImpl : public Module {
 public:
  explicit ClusterHeadImpl(const ClusterEmbeddings& embeddings, bool untied = false);
  Tensor forward(const Tensor& hidden);  // [T, d] -> [T, V], log-probabilities
  // Cross-entropy against labels [T], which all count. Tokens of later clusters are scored only for the rows
  // whose label is in that cluster.
  Tensor loss(const Tensor& hidden, const Tensor& labels);

  void prepare(const std::function<void()>& after_each);  // packs the tables before they are needed

  const ClusterSpec& spec() const { return spec_; }

 private:
  // The rows of the head for one cluster.
  struct Part {
    Tensor weight, bias;  // [tokens of the cluster, its width], [tokens of the cluster]
    Tensor projection;    // [d, width]; undefined if not needed
  };
  Part part(std::size_t cluster) const;
  Tensor scores(const Tensor& hidden, std::size_t cluster);  // [T, d] -> [T, tokens of the cluster]

  // The first step. Log-probabilities are scores minus `total`.
  struct FirstStep {
    Tensor tokens, clusters;  // [T, tokens of the first cluster], [T, clusters - 1] or undefined
    Tensor total;             // [T, 1]
  };
  FirstStep first_step(const Tensor& hidden);

  ClusterSpec spec_;
  std::vector<Tensor> tables_, projections_, biases_;
  Tensor cluster_weight_, cluster_bias_;  // [clusters - 1, width], [clusters - 1]
  std::vector<PackedWeight> packed_;      // of each cluster
};
ATTEND_MODULE(ClusterHead);

}  // namespace attend
