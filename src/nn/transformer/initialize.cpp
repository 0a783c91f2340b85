#include "nn/transformer/initialize.h"

#include <cmath>

namespace attend {
namespace {

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != name.npos;
}

// The part of the network whose shapes determine standard deviations.
const StackSpec& stack_of(const ModelSpec& model) {
  return model.encoder ? *model.encoder : *model.decoder;
}

// Vectors that replace a query or a token instead of shifting a result are not biases: XLNet's and
// Transformer-XL's, and gpt-oss's sinks; nor is the router's.
bool is_bias(std::string_view name) {
  return !name.ends_with("content_bias") && !name.ends_with("distance_bias") &&
         !name.ends_with("segment_bias") && !name.ends_with("embeddings.mask") && !name.ends_with("sinks") &&
         !name.ends_with("router.bias");
}

// The standard deviation of a matrix with a normal distribution, or of a vector that is not a bias.
double width_of(const ModelSpec& model, std::string_view name) {
  const InitializationSpec& spec = model.initialization;
  if (contains(name, "clusters.projection-")) return spec.projections.value_or(spec.range);
  if (contains(name, "embeddings.") && !contains(name, "projection"))
    return spec.embeddings.value_or(spec.range);
  const bool result =
      name.ends_with("self_attention.output.weight") || name.ends_with("feed_forward.out.weight");
  if (spec.narrow_results && result)
    return spec.range / std::sqrt(2 * static_cast<double>(stack_of(model).layers.size()));
  return spec.range;
}

// For T5. A distance table [buckets, heads] is drawn like a matrix with the model's width as input, and
// queries are reduced so that scores need no scale. (transformers draws an untied language model head, and
// the head for token labels, sqrt(width) times as wide, so that a new model is almost certain of any
// prediction; the original does not, and neither do we.)
double fan_in_width(const ModelSpec& model, std::string_view name, const Tensor& p) {
  if (contains(name, "embeddings.")) return 1;
  const StackSpec& stack = stack_of(model);
  if (contains(name, "distances.") && name.ends_with("table"))
    return 1 / std::sqrt(static_cast<double>(stack.width()));
  return 1 / std::sqrt(static_cast<double>(p.size(1)));
}

void draw_matrix(const ModelSpec& model, const std::string& name, Tensor& p, Generator& generator) {
  const InitializationSpec& spec = model.initialization;
  switch (spec.kind) {
    case InitializationSpec::Kind::normal:
      p.normal_(0, width_of(model, name), generator);
      return;
    case InitializationSpec::Kind::fan_in: {
      p.normal_(0, spec.range * fan_in_width(model, name, p), generator);
      const double scale =
          std::sqrt(static_cast<double>(stack_of(model).layers.front().self_attention.head_size));
      if (name.ends_with("query_key_value.weight"))
        p.narrow(0, 0, stack_of(model).layers.front().self_attention.width()).div_(scale);
      if (name.ends_with(".query.weight")) p.div_(scale);
      return;
    }
    case InitializationSpec::Kind::xavier:
      if (contains(name, "embeddings.")) {
        p.normal_(0, 1 / std::sqrt(static_cast<double>(p.size(1))), generator);
      } else {
        const double limit = std::sqrt(6.0 / static_cast<double>(p.size(0) + p.size(1)));
        p.uniform_(-limit, limit, generator);
      }
  }
}

void draw(const ModelSpec& model, const std::string& name, Tensor& p, Generator& generator) {
  const InitializationSpec& spec = model.initialization;
  if (contains(name, "norm.")) {
    if (!name.ends_with("weight") || stack_of(model).layers.front().norm.around_one)
      p.zero_();
    else if (spec.norms_vary)
      p.normal_(1, spec.range, generator);
    else
      p.fill_(spec.kind == InitializationSpec::Kind::fan_in ? spec.range : 1);
  } else if ((p.dim() == 1 && is_bias(name)) || name.ends_with("patches.mask")) {
    p.zero_();
  } else if (p.dim() == 1) {
    p.normal_(0, width_of(model, name), generator);
  } else {
    draw_matrix(model, name, p, generator);
  }
}

}  // namespace

void initialize(Transformer& model, std::uint64_t seed,
                const std::function<bool(const std::string& parameter)>& wanted) {
  Unrecorded no_grad;
  Generator generator = ops::make_generator<ops::CPUGeneratorImpl>(seed);
  const auto is_wanted = [&](const std::string& name) { return !wanted || wanted(name); };
  for (auto& item : model->named_parameters())
    if (item.value().needs_gradient() && is_wanted(item.key()))
      draw(model->spec(), item.key(), item.value(), generator);
  for (const auto& [name, stack] : {std::pair{"encoder", model->encoder}, {"decoder", model->decoder}}) {
    if (!stack || !stack->embeddings) continue;
    const EmbeddingSpec& spec = stack->embeddings->spec();
    if (spec.padding_id >= 0 && is_wanted(fmt::format("{}.embeddings.tokens", name)))
      stack->embeddings->tokens[spec.padding_id].zero_();
    const auto* learned = std::get_if<LearnedPositions>(&spec.positions);
    if (learned && learned->skipped_id >= 0 && is_wanted(fmt::format("{}.embeddings.positions", name)))
      stack->embeddings->positions[learned->offset - 1].zero_();
  }
}

}  // namespace attend
