#include "nn/losses/clusters.h"

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

// Projects hidden states to the width of a cluster's vectors.
Tensor narrowed(const Tensor& hidden, const Tensor& projection) {
  return projection.defined() ? linear(hidden, projection.t(), {}, nullptr) : hidden;
}

}  // namespace

ClusterEmbeddingsImpl::ClusterEmbeddingsImpl(const ClusterSpec& spec, std::int64_t width,
                                             std::int64_t model_width)
    : spec_(spec), model_width_(model_width) {
  const std::size_t count = spec.divisor == 1 ? 1 : spec.ends.size();
  for (std::size_t i = 0; i < count; ++i, width /= spec.divisor) {
    const std::int64_t tokens = count == 1 ? spec.ends.back() : size_of(spec, i);
    tables.push_back(register_parameter(fmt::format("table-{}", i), ops::empty({tokens, width})));
    const bool needed = spec.divisor != 1 || width != model_width;
    projections.push_back(
        needed ? register_parameter(fmt::format("projection-{}", i), ops::empty({model_width, width}))
               : Tensor());
  }
}

Tensor ClusterEmbeddingsImpl::forward(const Tensor& ids) {
  if (tables.size() == 1) return project(ops::embedding(tables[0], ids), projections[0]);
  Tensor all = ops::zeros({ids.size(0), model_width_}, tables[0].type());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::int64_t begin = begin_of(spec_, i);
    const Tensor rows = ids.ge(begin).logical_and(ids.lt(spec_.ends[i])).nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    const Tensor vectors = ops::embedding(tables[i], ids.index_select(0, rows) - begin);
    all = all.index_copy(0, rows, project(vectors, projections[i]));
  }
  return all;
}

ClusterHeadImpl::ClusterHeadImpl(const ClusterEmbeddings& embeddings, bool untied)
    : spec_(embeddings->spec()), tables_(embeddings->tables), packed_(embeddings->spec().ends.size()) {
  const auto others = static_cast<std::int64_t>(spec_.ends.size()) - 1;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (untied) tables_[i] = register_parameter(fmt::format("table-{}", i), ops::empty(tables_[i].sizes()));
    biases_.push_back(register_parameter(fmt::format("bias-{}", i), ops::zeros({tables_[i].size(0)})));
  }
  for (std::size_t i = 0; i < spec_.ends.size(); ++i) {
    const Tensor& theirs = embeddings->projections[tables_.size() > 1 ? i : 0];
    projections_.push_back(
        theirs.defined() && spec_.has_own_projection(i)
            ? register_parameter(fmt::format("projection-{}", i), ops::empty(theirs.sizes()))
            : theirs);
  }
  if (others > 0) {
    cluster_weight_ = register_parameter("cluster_weight", ops::empty({others, tables_[0].size(1)}));
    cluster_bias_ = register_parameter("cluster_bias", ops::zeros({others}));
  }
}

ClusterHeadImpl::Part ClusterHeadImpl::part(std::size_t cluster) const {
  if (tables_.size() > 1) return {tables_[cluster], biases_[cluster], projections_[cluster]};
  const auto rows = [&](const Tensor& all) {
    return all.narrow(0, begin_of(spec_, cluster), size_of(spec_, cluster));
  };
  return {rows(tables_[0]), rows(biases_[0]), projections_[cluster]};
}

void ClusterHeadImpl::prepare(const std::function<void()>& after_each) {
  for (std::size_t i = 0; i < packed_.size(); ++i) {
    packed_[i].prepare(part(i).weight);
    after_each();
  }
}

Tensor ClusterHeadImpl::scores(const Tensor& hidden, std::size_t cluster) {
  const Part p = part(cluster);
  return linear(narrowed(hidden, p.projection), p.weight, p.bias, &packed_[cluster]);
}

ClusterHeadImpl::FirstStep ClusterHeadImpl::first_step(const Tensor& hidden) {
  FirstStep step;
  step.tokens = scores(hidden, 0);
  step.total = ops::logsumexp(step.tokens, {1}, /*keepdim=*/true);
  if (!cluster_weight_.defined()) return step;
  // Two products, because one matrix of both would be a copy of the largest table.
  step.clusters = linear(narrowed(hidden, projections_[0]), cluster_weight_, cluster_bias_, nullptr);
  step.total = ops::logaddexp(step.total, ops::logsumexp(step.clusters, {1}, /*keepdim=*/true));
  return step;
}

Tensor ClusterHeadImpl::forward(const Tensor& hidden) {
  const FirstStep first = first_step(hidden);
  std::vector<Tensor> parts{first.tokens - first.total};
  for (std::size_t i = 1; i < spec_.ends.size(); ++i) {
    const Tensor of_cluster = first.clusters.narrow(1, static_cast<std::int64_t>(i) - 1, 1) - first.total;
    parts.push_back(of_cluster + ops::log_softmax(scores(hidden, i), 1));
  }
  return ops::cat(parts, 1);
}

Tensor ClusterHeadImpl::loss(const Tensor& hidden, const Tensor& labels) {
  const FirstStep first = first_step(hidden);
  Tensor sum = first.total.sum();
  for (std::size_t i = 0; i < spec_.ends.size(); ++i) {
    const std::int64_t begin = begin_of(spec_, i), end = spec_.ends[i];
    const Tensor rows = labels.ge(begin).logical_and(labels.lt(end)).nonzero().squeeze(1);
    const Tensor within = labels.index_select(0, rows) - begin;
    if (i == 0) {
      sum = sum - first.tokens.index({rows, within}).sum();
      continue;
    }
    if (rows.numel() == 0) continue;
    const Part p = part(i);
    sum = sum - first.clusters.select(1, static_cast<std::int64_t>(i) - 1).index_select(0, rows).sum() +
          linear_cross_entropy(narrowed(hidden.index_select(0, rows), p.projection), p.weight, p.bias, within,
                               {}, packed_[i])
              .sum;
  }
  return sum;
}

}  // namespace attend
