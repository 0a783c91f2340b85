#include "models/checkpoint/sentence_modules.h"

#include "formats/tensors/pickled_tensors.h"
#include "models/families/family.h"
#include "models/weights/tensors.h"
#include "nn/layers/pooling.h"

namespace attend {
namespace {

// A tensor of a module's own file, as float32.
Tensor read_weight(const WeightFiles& checkpoint, const SentenceModule& spec, const std::string& name,
                   Dimensions shape) {
  const TensorView* view = checkpoint.find(name);
  if (view == nullptr) fail("{}: the tensor {} is missing", spec.folder.string(), name);
  if (Dimensions(view->shape) != shape || !is_floating(view->type))
    fail("{}: {}: expected numbers of the shape [{}] (from its config.json), found [{}]",
         spec.folder.string(), name, fmt::join(shape, ", "), fmt::join(view->shape, ", "));
  return copy_tensor(*view).to(kFloat);
}

// Rows of hidden states, the texts that they belong to, and their positions in these.
struct PooledRows {
  Tensor hidden;
  Offsets offsets;
  Tensor places;
};

// The rows without the first `count` of each text.
PooledRows without_first(const PooledRows& all, std::int64_t count) {
  std::vector<std::int64_t> rows, places, lengths;
  for (std::int64_t b = 0; b < all.offsets.count(); ++b) {
    const std::int64_t length = all.offsets.length(b);
    lengths.push_back(std::max<std::int64_t>(0, length - count));
    for (std::int64_t i = count; i < length; ++i) {
      rows.push_back(all.offsets.begin(b) + i);
      places.push_back(i);
    }
  }
  const Tensor numbers = ops::tensor(rows, kLong);
  return {all.hidden.index_select(0, numbers), Offsets(lengths),
          all.places.defined() ? all.places.index_select(0, numbers) : ops::tensor(places, kLong)};
}

// Like pool(), but zeros for a text without rows.
Tensor pool_any(const PooledRows& rows, SentencePooling::Mode mode) {
  std::vector<std::int64_t> texts, lengths;
  for (std::int64_t b = 0; b < rows.offsets.count(); ++b)
    if (const std::int64_t length = rows.offsets.length(b); length > 0) {
      texts.push_back(b);
      lengths.push_back(length);
    }
  if (std::ssize(texts) == rows.offsets.count()) return pool(rows.hidden, rows.offsets, mode, rows.places);
  Tensor pooled = ops::zeros({rows.offsets.count(), rows.hidden.size(1)}, rows.hidden.type());
  if (!texts.empty())
    pooled.index_copy_(0, ops::tensor(texts, kLong), pool(rows.hidden, Offsets(lengths), mode, rows.places));
  return pooled;
}

}  // namespace

std::int64_t width_of(const PretrainedModel& model) {
  Transformer network = model.network();
  return (network->decoder ? network->decoder : network->encoder)->spec().width();
}

Linear read_linear(const std::filesystem::path& file, std::int64_t in, std::optional<std::int64_t> out) {
  const PickledTensorFile tensors(file);
  const auto find = [&](const char* name, std::size_t dimensions) {
    const auto found = tensors.tensors().find(name);
    if (found == tensors.tensors().end() || found->second.shape.size() != dimensions ||
        !is_floating(found->second.type))
      fail("{}: expected the tensors weight, a matrix, and bias", file.string());
    return copy_tensor(found->second).to(kFloat);
  };
  const Tensor weight = find("weight", 2), bias = find("bias", 1);
  if (weight.size(1) != in || weight.size(0) != out.value_or(weight.size(0)) ||
      bias.size(0) != weight.size(0))
    fail("{}: expected a matrix of {} columns and {} rows, found [{}, {}] and a bias of {}", file.string(),
         in, out ? std::to_string(*out) : "any number of", weight.size(0), weight.size(1), bias.size(0));
  Unrecorded no_grad;
  Linear linear(in, weight.size(0));
  linear->weight.set_data(weight);
  linear->bias.set_data(bias);
  return linear;
}

SentenceModules::SentenceModules(const std::vector<SentenceModule>& modules, std::int64_t width)
    : size_(width) {
  Unrecorded no_grad;
  for (const SentenceModule& spec : modules) add(spec);
}

void SentenceModules::add(const SentenceModule& spec) {
  using Kind = SentenceModule::Kind;
  Module module{.spec = spec};
  if (spec.kind == Kind::pooling) size_ *= static_cast<std::int64_t>(spec.modes.size());
  if (spec.kind == Kind::dense || spec.kind == Kind::norm) {
    if (spec.in != size_)
      fail("{}: it reads {} numbers, but the module before it returns {}", spec.folder.string(), spec.in,
           size_);
    size_ = spec.out;
    const WeightFiles checkpoint = open_source(spec.folder)->weight_files();
    const std::vector<std::int64_t> out{spec.out};
    if (spec.kind == Kind::dense) {
      const Fields activation({{"activation_function", spec.activation}}, spec.folder.string());
      module.activation = read_activation(activation, {"activation_function"}, "tanh");
      module.dense = Linear(spec.in, spec.out, spec.bias);
      module.dense->weight.set_data(read_weight(checkpoint, spec, "linear.weight", {spec.out, spec.in}));
      if (spec.bias) module.dense->bias.set_data(read_weight(checkpoint, spec, "linear.bias", out));
    } else {
      module.norm = LayerNorm(spec.in, NormSpec{});
      module.norm->weight.set_data(read_weight(checkpoint, spec, "norm.weight", out));
      module.norm->bias.set_data(read_weight(checkpoint, spec, "norm.bias", out));
    }
  }
  modules_.push_back(std::move(module));
}

Tensor SentenceModules::embed(const Tensor& hidden, const Offsets& offsets, const VectorOptions& options) {
  Tensor x = hidden;
  Pass pass = Pass::inference();
  for (Module& module : modules_) switch (module.spec.kind) {
      case SentenceModule::Kind::pooling: {
        PooledRows rows{x, offsets, options.places};
        if (!module.spec.include_prompt && options.prompt_tokens > 0)
          rows = without_first(rows, options.prompt_tokens);
        std::vector<Tensor> parts;
        for (const SentencePooling::Mode mode : module.spec.modes) parts.push_back(pool_any(rows, mode));
        x = ops::cat(parts, 1);
        break;
      }
      case SentenceModule::Kind::dense:
        x = module.dense(x, pass, module.activation);
        break;
      case SentenceModule::Kind::norm:
        x = module.norm(x);
        break;
      case SentenceModule::Kind::unit_length:
        if (options.normalize || &module != &modules_.back()) x = to_unit_length(x);
        break;
      default:
        fail("expected modules that make vectors of hidden states");
    }
  return x;
}

}  // namespace attend
