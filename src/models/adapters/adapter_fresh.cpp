// New adapters: the modules that they are attached to, and their initial numbers.
#include "base/error.h"
#include "models/adapters/adapter.h"

#include <cmath>

namespace attend {
namespace {

// The numbers depend on the seed and the name, not on what else is drawn.
Generator generator_of(const std::string& name, std::uint64_t seed) {
  std::uint64_t mixed = seed;
  for (const char c : name) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return ops::make_generator<ops::CPUGeneratorImpl>(mixed);
}

[[noreturn]] void fail_without_targets(const PretrainedModel& model, const AdapterConfig& config) {
  std::vector<std::string> names;
  for (const OriginalModule& module : original_modules(model)) names.push_back(module.name);
  fail("the adapter's targets {} match no module of {}; its modules are {}",
       shown(config.fields().json().value("target_modules", Json())), model.architecture(),
       fmt::join(names, ", "));
}

}  // namespace

Adapter Adapter::fresh(const PretrainedModel& model, const AdapterOptions& options, const std::string& task,
                       std::uint64_t seed) {
  if (options.initialization == "pissa" && options.directions)
    fail("PiSSA and DoRA cannot be combined: PiSSA changes the lengths of the matrix's rows");
  Adapter adapter(AdapterConfig::make(options, model, task));
  std::vector<OriginalModule> adapted;
  if (adapter.has_virtual_tokens()) {
    adapter.draw_virtual_tokens(model, seed);
  } else {
    for (const OriginalModule& module : original_modules(model))
      if (adapter.config_.is_target(module)) adapted.push_back(module);
    if (adapted.empty()) fail_without_targets(model, adapter.config_);
    for (const OriginalModule& module : adapted) adapter.draw(module, model, seed);
  }
  const std::string& bias = options.bias;
  const auto learns = [&](const std::string& name) {
    const std::string module = name.substr(0, name.rfind('.'));
    if (adapter.config_.is_saved(module)) return true;
    // As in peft: "all" is every tensor with "bias" in its name, tables of relative biases too.
    if (bias == "all") return name.find("bias") != name.npos;
    return bias != "none" && name.ends_with(".bias") &&
           std::ranges::any_of(adapted, [&](const OriginalModule& m) { return m.name == module; });
  };
  for (const auto& [name, weight] : model.by_checkpoint_name([](auto&, const Tensor& w) { return w; }, false))
    if (learns(name)) {
      // The bias of an adapted matrix is inside peft's wrapper of the module.
      std::string stored = name;
      const bool wrapped =
          name.ends_with(".bias") &&
          std::ranges::any_of(adapted, [&](const OriginalModule& m) { return m.name + ".bias" == name; });
      if (wrapped) stored.insert(stored.rfind('.'), ".base_layer");
      stored.insert(0, adapter.has_virtual_tokens() ? "base_model." : "base_model.model.");
      adapter.entries_.push_back({stored, name, Role::replaced, weight.detach().clone()});
    }
  adapter.attach(model, 0, 1);
  return adapter;
}

void Adapter::draw_virtual_tokens(const PretrainedModel& model, std::uint64_t seed) {
  const Fields& f = config_.fields();
  const std::int64_t count = f.integer({"num_virtual_tokens"}, {}, 1, 1 << 16),
                     width = f.integer({"token_dim"});
  const bool keys = config_.kind() == AdapterConfig::Kind::prefix;
  const std::vector<std::int64_t> shape =
      keys ? std::vector{count, 2 * f.integer({"num_layers"}) * width}
           : std::vector{count * f.integer({"num_transformer_submodules"}), width};
  Generator generator = generator_of("prompt_embeddings", seed);
  entries_.push_back({"prompt_embeddings", "prompt_embeddings", Role::virtual_tokens,
                      ops::empty(shape).normal_(0, 1, generator)});
}

void Adapter::add(const OriginalModule& module, const char* ending, Role role, Tensor value) {
  entries_.push_back({"base_model.model." + module.name + ending, module.name, role, std::move(value)});
}

void Adapter::draw(const OriginalModule& module, const PretrainedModel& model, std::uint64_t seed) {
  Unrecorded no_grad;
  Generator generator = generator_of(module.name, seed);
  if (config_.kind() == AdapterConfig::Kind::ia3) {
    const bool of_input = config_.scales_input(module.name);
    add(module, ".ia3_l", Role::ia3, of_input ? ops::ones({1, module.in}) : ops::ones({module.out, 1}));
    return;
  }
  const std::int64_t rank = config_.rank_of(module.name);
  const bool directions = config_.fields().flag({"use_dora"}, false);
  const PackedMatrix* const packed = model.network()->packed(module.parameter);
  const Tensor weight = packed && directions ? packed->dequantized() : parameter_of(model, module).detach();
  if (module.is_table) {
    add(module, ".lora_embedding_A", Role::table_a, ops::zeros({rank, module.in}));
    add(module, ".lora_embedding_B", Role::table_b, ops::empty({module.out, rank}).normal_(0, 1, generator));
    if (directions) add(module, ".lora_magnitude_vector", Role::magnitude, ops::vector_norm(weight, 2, {0}));
    return;
  }
  const std::string initialization = config_.fields().json().at("init_lora_weights").is_string()
                                         ? config_.fields().text({"init_lora_weights"})
                                         : "default";
  Tensor a = ops::empty({rank, module.in}), b = ops::zeros({module.out, rank});
  const double width = 1 / std::sqrt(static_cast<double>(module.in));
  if (initialization == "default")
    a.uniform_(-width, width, generator);
  else if (initialization == "gaussian")
    a.normal_(0, 1 / static_cast<double>(rank), generator);
  else if (initialization == "pissa")
    pissa_init(module, model, a, b);
  else
    fail("init_lora_weights: expected default, gaussian or pissa, found {}", shown(Json(initialization)));
  add(module, ".lora_A.weight", Role::a, a);
  add(module, ".lora_B.weight", Role::b, b);
  if (config_.fields().flag({"lora_bias"}, false))
    add(module, ".lora_B.bias", Role::factor_bias, ops::zeros({module.out}));
  if (directions) {
    const Tensor rows = module.to_original(weight.narrow(0, module.first, module.out));
    add(module, ".lora_magnitude_vector", Role::magnitude, ops::vector_norm(rows, 2, {1}));
  }
}

void Adapter::pissa_init(const OriginalModule& module, const PretrainedModel& model, Tensor& a, Tensor& b) {
  if (model.network()->packed(module.parameter))
    fail("{}: PiSSA changes the matrix, but {} weights cannot change", module.name, name(model.weights()));
  const Tensor rows = parameter_of(model, module).narrow(0, module.first, module.out);  // in our order
  const std::int64_t rank = a.size(0);
  if (rank > std::min(module.in, module.out))
    fail("{}: PiSSA: the rank {} is larger than that of the matrix [{}, {}]", module.name, rank, module.out,
         module.in);
  const auto [left, values, right] = ops::svd(rows, /*full_matrices=*/false);
  const Tensor root = (values.narrow(0, 0, rank) / config_.scale_of(module.name, rank)).sqrt();
  a = root.unsqueeze(1) * right.narrow(0, 0, rank);
  const Tensor ours = left.narrow(1, 0, rank) * root;
  rows.sub_(matrix_product(ours, a), config_.scale_of(module.name, rank));
  b = module.to_original(ours);
  first_factors_[module.name] = {a.clone(), b.clone()};
}

void Adapter::to_plain_lora(std::map<std::string, Tensor>& tensors, Json& fields) const {
  for (const auto& [name, factors] : first_factors_) {
    Tensor& a = tensors.at("base_model.model." + name + ".lora_A.weight");
    Tensor& b = tensors.at("base_model.model." + name + ".lora_B.weight");
    a = ops::cat({a, factors.first});
    b = ops::cat({b, -factors.second}, 1);
  }
  // Twice the rank at the same scale.
  const double more = config_.fields().flag({"use_rslora"}, false) ? std::sqrt(2.0) : 2;
  fields["r"] = 2 * config_.fields().integer({"r"});
  fields["lora_alpha"] = more * config_.fields().number({"lora_alpha"});
  fields["init_lora_weights"] = true;
}

}  // namespace attend
