#include "nn/clusters.h"

namespace attend {
namespace {

std::int64_t begin_of(const ClusterSpec& spec, std::size_t cluster) {
  return cluster == 0 ? 0 : spec.ends[cluster - 1];
}
std::int64_t size_of(const ClusterSpec& spec, std::size_t cluster) {
  return spec.ends[cluster] - begin_of(spec, cluster);
}

Tensor project(const Tensor& x, const Tensor& projection) {
  return projection.defined() ? linear(x, projection, {}, nullptr) : x;
}

}  // namespace

ClusterEmbeddingsImpl::ClusterEmbeddingsImpl(const ClusterSpec& spec, std::int64_t width,
                                             std::int64_t model_width)
    : spec_(spec), model_width_(model_width) {
  const std::size_t count = spec.divisor == 1 ? 1 : spec.ends.size();
  for (std::size_t i = 0; i < count; ++i, width /= spec.divisor) {
    const std::int64_t tokens = count == 1 ? spec.ends.back() : size_of(spec, i);
    tables.push_back(register_parameter(fmt::format("table-{}", i), at::empty({tokens, width})));
    const bool needed = count > 1 || width != model_width;
    projections.push_back(
        needed ? register_parameter(fmt::format("projection-{}", i), at::empty({model_width, width}))
               : Tensor());
  }
}

Tensor ClusterEmbeddingsImpl::forward(const Tensor& ids) {
  if (tables.size() == 1) return project(at::embedding(tables[0], ids), projections[0]);
  Tensor all = at::zeros({ids.size(0), model_width_}, tables[0].options());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::int64_t begin = begin_of(spec_, i);
    const Tensor rows = ids.ge(begin).logical_and(ids.lt(spec_.ends[i])).nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    const Tensor vectors = at::embedding(tables[i], ids.index_select(0, rows) - begin);
    all = all.index_copy(0, rows, project(vectors, projections[i]));
  }
  return all;
}

ClusterHeadImpl::ClusterHeadImpl(const ClusterEmbeddings& embeddings)
    : spec_(embeddings->spec()), tables_(embeddings->tables), projections_(embeddings->projections) {
  const auto others = static_cast<std::int64_t>(spec_.ends.size()) - 1;
  for (std::size_t i = 0; i < tables_.size(); ++i)
    biases_.push_back(register_parameter(fmt::format("bias-{}", i), at::zeros({tables_[i].size(0)})));
  if (projections_[0].defined())
    projections_[0] = register_parameter("projection-0", at::empty(projections_[0].sizes()));
  if (others > 0) {
    cluster_weight_ = register_parameter("cluster_weight", at::empty({others, tables_[0].size(1)}));
    cluster_bias_ = register_parameter("cluster_bias", at::zeros({others}));
  }
}

// [T, d] -> [T, tokens of the cluster], with the other clusters behind those of the first.
Tensor ClusterHeadImpl::scores(const Tensor& hidden, std::size_t cluster) {
  const bool one_table = tables_.size() == 1;
  const std::size_t table = one_table ? 0 : cluster;
  Tensor weight = tables_[table], bias = biases_[table];
  if (one_table) {
    weight = weight.narrow(0, begin_of(spec_, cluster), size_of(spec_, cluster));
    bias = bias.narrow(0, begin_of(spec_, cluster), size_of(spec_, cluster));
  }
  if (cluster == 0 && cluster_weight_.defined()) {
    weight = at::cat({weight, cluster_weight_});
    bias = at::cat({bias, cluster_bias_});
  }
  const Tensor& projection = projections_[table];
  return linear(projection.defined() ? linear(hidden, projection.t().contiguous(), {}, nullptr) : hidden,
                weight, bias, nullptr);
}

Tensor ClusterHeadImpl::forward(const Tensor& hidden) {
  const Tensor first = at::log_softmax(scores(hidden, 0), 1);
  std::vector<Tensor> parts{first.narrow(1, 0, size_of(spec_, 0))};
  for (std::size_t i = 1; i < spec_.ends.size(); ++i) {
    const Tensor of_cluster = first.narrow(1, size_of(spec_, 0) + static_cast<std::int64_t>(i) - 1, 1);
    parts.push_back(of_cluster + at::log_softmax(scores(hidden, i), 1));
  }
  return at::cat(parts, 1);
}

}  // namespace attend
