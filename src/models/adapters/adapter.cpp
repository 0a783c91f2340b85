#include "models/adapters/adapter.h"

#include "base/directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "formats/tensors/pickled_tensors.h"
#include "models/weights/tensors.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "base_model.model.", kPromptPrefix = "base_model.",
                           kVirtualTokens = "prompt_embeddings";

fs::path find_file(const fs::path& directory) {
  for (const char* name : {"adapter_model.safetensors", "adapter_model.bin"})
    if (file_exists(directory / name)) return directory / name;
  fail("{}: the directory has no adapter_model.safetensors", directory.string());
}

// Removes the suffix `end`; false if it is not there.
bool cut_end(std::string& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.erase(text.size() - end.size());
  return true;
}

// A module's name without the wrappers of peft.
std::string unwrapped(std::string name) {
  for (std::string_view wrapper : {".base_layer", ".modules_to_save"})
    if (const auto at = name.rfind(std::string(wrapper) + "."); at != name.npos)
      name.erase(at, wrapper.size());
  return name;
}

// The names in a model for what an adapter calls `name`: with a head, the body's names begin with a prefix.
std::vector<std::string> names_in_model(const std::string& name, std::string_view prefix) {
  const std::string dotted = std::string(prefix) + ".";
  return {name, name.starts_with(dotted) ? name.substr(dotted.size()) : dotted + name};
}

}  // namespace

Adapter::Adapter(const fs::path& directory) : Adapter(AdapterConfig::read(directory)) {
  const fs::path path = find_file(directory);
  source_ = path.string();
  const TensorFile file = open_tensor_file(path);
  for (const auto& [stored, view] : file.tensors()) {
    if (!is_floating(view.type))
      fail("{}: {}: expected floating-point numbers", source_, shown(Json(stored)));
    read(stored, copy_tensor(view));
  }
}

void Adapter::read(const std::string& stored, const Tensor& tensor) {
  constexpr std::pair<const char*, Role> endings[] = {
      {".lora_A.weight", Role::a},
      {".lora_B.weight", Role::b},
      {".lora_B.bias", Role::factor_bias},
      {".lora_magnitude_vector", Role::magnitude},
      {".lora_magnitude_vector.weight", Role::magnitude},
      {".lora_embedding_A", Role::table_a},
      {".lora_embedding_B", Role::table_b},
      {".ia3_l", Role::ia3},
  };
  const auto keep = [&](const std::string& name, Role role) {
    entries_.push_back({stored, name, role, tensor.to(kFloat), tensor.type()});
  };
  if (has_virtual_tokens() && stored == kVirtualTokens) return keep(stored, Role::virtual_tokens);
  const std::string_view prefix = has_virtual_tokens() ? kPromptPrefix : kPrefix;
  if (!stored.starts_with(prefix))
    fail("{}: expected tensors with names that begin with {}, found {}", source_, prefix,
         shown(Json(stored)));
  std::string name = stored.substr(prefix.size());
  for (const auto& [ending, role] : endings)
    if (cut_end(name, ending)) return keep(name, role);
  for (const char* part : {".lora_", ".ia3_"})
    if (name.find(part) != name.npos)
      fail("{}: {} belongs to an unsupported variant", source_, shown(Json(stored)));
  // With bias "all" peft also stores the bias that a trained module has replaced, and stores the module's own
  // bias twice.
  const bool again =
      name.find(".original_module.") != name.npos || name.find(".modules_to_save.") != name.npos;
  keep(unwrapped(name), again ? Role::kept : Role::replaced);
}

Adapter::Entry* Adapter::find(const std::string& module, Role role) {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& e) { return e.role == role && e.name == module; });
  return found == entries_.end() ? nullptr : &*found;
}

Tensor Adapter::replacement(const std::vector<std::string>& names) const {
  for (const std::string& name : names)
    for (const Entry& entry : entries_)
      if (entry.role == Role::replaced && entry.name == name) return entry.value;
  return {};
}

Tensor Adapter::shaped(const std::string& module, Role role, std::vector<std::int64_t> shape,
                       const OriginalModule* rows) {
  Entry* const entry = find(module, role);
  if (entry == nullptr) return {};
  const auto found = entry->value.sizes();
  for (std::size_t i = 0; i < shape.size() && i < found.size(); ++i)
    if (shape[i] < 0) shape[i] = found[i];
  if (found != shape || entry->value.numel() == 0)
    fail("{}: {}: expected the model's shape [{}], found [{}]", source_, shown(Json(entry->stored)),
         fmt::join(shape, ", "), fmt::join(found, ", "));
  if (rows != nullptr && !entry->by_row) {
    entry->value = rows->to_ours(entry->value);
    entry->by_row = true;
  }
  return entry->value;
}

void Adapter::attach_matrix(const OriginalModule& module, const std::string& name,
                            const PretrainedModel& model, std::int64_t index, double share) {
  MatrixAdapter m;
  m.adapter = index;
  m.first = module.first;
  m.count = module.out;
  m.share = share;
  if (const Entry* ia3 = find(name, Role::ia3)) {
    const bool of_input = ia3->value.dim() == 2 && ia3->value.size(0) == 1 &&
                          (ia3->value.size(1) != 1 || config_.scales_input(module.name));
    if (of_input)
      m.input_factors = shaped(name, Role::ia3, {1, module.in});
    else
      m.result_factors = shaped(name, Role::ia3, {module.out, 1}, &module);
  } else {
    m.a = shaped(name, Role::a, {-1, module.in});
    m.b = shaped(name, Role::b, {module.out, -1}, &module);
    if (!m.a.defined() || !m.b.defined() || m.a.size(0) != m.b.size(1))
      fail("{}: {}: expected two factors [rank, in] and [out, rank]", source_, shown(Json(name)));
    m.bias = shaped(name, Role::factor_bias, {module.out}, &module);
    m.magnitude = shaped(name, Role::magnitude, {module.out}, &module);
    m.scale = config_.scale_of(module.name, m.a.size(0));
    m.dropout = config_.fields().number({"lora_dropout"}, 0, 0, 1);
  }
  matrix_adapters(model, module).push_back(std::move(m));
}

void Adapter::attach_table(const OriginalModule& module, const std::string& name,
                           const PretrainedModel& model, std::int64_t index, double share) {
  TableAdapter t;
  t.adapter = index;
  t.share = share;
  t.a = shaped(name, Role::table_a, {-1, module.in});
  t.b = shaped(name, Role::table_b, {module.out, -1});
  if (!t.a.defined() || !t.b.defined() || t.a.size(0) != t.b.size(1))
    fail("{}: {}: expected two factors [rank, rows] and [width, rank]", source_, shown(Json(name)));
  t.magnitude = shaped(name, Role::magnitude, {module.out});
  t.scale = config_.scale_of(module.name, t.a.size(0));
  table_adapters(model, module).push_back(std::move(t));
}

void Adapter::attach(const PretrainedModel& model, std::int64_t index, double share) {
  ops::Device* const device = model.device();
  for (Entry& entry : entries_)
    if (entry.role != Role::replaced && entry.role != Role::kept) entry.value = entry.value.on(device);
  std::set<std::string> names;
  for (const Entry& entry : entries_)
    if (entry.role == Role::virtual_tokens)
      attach_virtual_tokens(model, index, share);
    else if (entry.role != Role::replaced && entry.role != Role::kept)
      names.insert(entry.name);
  const std::vector<OriginalModule> modules = original_modules(model);
  for (const std::string& name : names) {
    const std::vector<std::string> all = names_in_model(name, model.family().prefix);
    const auto place = std::ranges::find_if(
        modules, [&](const OriginalModule& m) { return std::ranges::find(all, m.name) != all.end(); });
    if (place == modules.end())
      fail("{}: {} has no place in {} ({})", source_, shown(Json(name)), model.architecture(),
           model.source());
    places_.emplace(name, *place);
    place->is_table ? attach_table(*place, name, model, index, share)
                    : attach_matrix(*place, name, model, index, share);
  }
  for (const Entry& entry : entries_)
    if (entry.role == Role::replaced && !model.has_tensor(entry.name))
      fail("{}: {} has no place in {} ({})", source_, shown(Json(entry.stored)), model.architecture(),
           model.source());
}

void Adapter::detach(const PretrainedModel& model) {
  for (const OriginalModule& module : original_modules(model))
    module.is_table ? table_adapters(model, module).clear() : matrix_adapters(model, module).clear();
  for (Stack stack : {model.network()->encoder, model.network()->decoder}) {
    if (!stack) continue;
    stack->prefixes.clear();
    if (stack->embeddings) stack->embeddings->prompts.clear();
  }
}

void Adapter::train(const PretrainedModel& model) {
  for (Entry& entry : entries_)
    if (entry.role != Role::replaced && entry.role != Role::kept) entry.value.set_needs_gradient(true);
  std::set<std::string> own;
  for (const Entry& entry : entries_)
    // peft stores the matrix of an adapted head, although it is not trained.
    if (entry.role == Role::replaced && !entry.stored.ends_with(".base_layer.weight"))
      for (const std::string& spelling : names_in_model(entry.name, model.family().prefix))
        own.insert(spelling);
  frozen_.clear();
  for (auto& item : model.network()->named_parameters()) {
    const WeightSource source = model.source_of(item.key());
    const auto learns = [&](const std::string& name) { return own.contains(model.saved_name(name)); };
    const bool any = !source.frozen && std::ranges::any_of(source.names, learns);
    if (any && model.network()->packed(item.key()))
      fail("{} cannot be trained whole, because {} weights are not trainable", source.names.front(),
           name(model.weights()));
    item.value().set_needs_gradient(any);
    if (!any) continue;
    for (std::size_t i = 0; i < source.names.size(); ++i)
      if (!learns(source.names[i])) {
        const auto [first, count] = source.rows_of(i, item.value().size(0));
        frozen_.push_back({item.value(), first, count});
      }
  }
}

std::vector<std::pair<std::string, Tensor>> Adapter::parameters() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const Entry& entry : entries_) {
    if (entry.role == Role::virtual_tokens) all.emplace_back(entry.stored, entry.value);
    const auto place = places_.find(entry.name);
    if (place == places_.end()) continue;
    // "encoder.layers.0.self_attention.query_key_value.query.lora_A.weight"
    std::string ours = place->second.parameter;
    cut_end(ours, ".weight");
    const std::size_t dot = entry.stored.rfind('.', entry.stored.find(entry.name) + entry.name.size() - 1);
    all.emplace_back(ours + entry.stored.substr(dot), entry.value);
  }
  return all;
}

void Adapter::constrain_gradients() const {
  for (const auto& [parameter, first, count] : frozen_)
    if (parameter.gradient().defined()) parameter.gradient().narrow(0, first, count).zero_();
}

std::map<std::string, Tensor> Adapter::stored(const PretrainedModel& model,
                                              const std::function<Tensor(const Tensor&)>& pick) const {
  const auto originals =
      model.by_checkpoint_name([&](auto&, const Tensor& weight) { return pick(weight); }, true);
  std::map<std::string, Tensor> all;
  for (const Entry& entry : entries_) {
    Tensor tensor;
    if (entry.role == Role::replaced) {
      for (const std::string& name : names_in_model(entry.name, model.family().prefix))
        if (const auto found = originals.find(name); found != originals.end()) tensor = found->second;
    } else if (tensor = pick(entry.value); tensor.defined() && entry.by_row) {
      tensor = places_.at(entry.name).to_original(tensor);
    }
    if (tensor.defined()) all[entry.stored] = tensor;
  }
  return all;
}

void Adapter::save(const PretrainedModel& model, const fs::path& directory) const {
  make_directories(directory);
  std::map<std::string, Tensor> tensors = stored(model, [](const Tensor& t) { return t.detach(); });
  for (const Entry& entry : entries_) {
    Tensor& tensor = tensors[entry.stored];
    if (!tensor.defined()) tensor = entry.value;  // a second name for a tensor that the model has once
    tensor = tensor.to(entry.type);
  }
  Json fields = config_.fields().json();
  if (!first_factors_.empty()) to_plain_lora(tensors, fields);
  write_tensors(directory / "adapter_model.safetensors", tensors);
  write_file_atomically(directory / "adapter_config.json", fields.dump(2) + "\n");
}

void Adapter::restore(PretrainedModel& model, const fs::path& directory) {
  Unrecorded no_grad;
  const Adapter other(directory);
  std::map<std::string, Tensor> replaced;
  for (Entry& entry : entries_) {
    const auto found =
        std::ranges::find_if(other.entries_, [&](const Entry& e) { return e.stored == entry.stored; });
    Tensor value = found == other.entries_.end() ? Tensor() : found->value;
    if (value.defined() && first_factors_.contains(entry.name)) {  // the first half (to_plain_lora)
      const std::int64_t dimension = entry.role == Role::a ? 0 : 1;
      value = value.narrow(dimension, 0, value.size(dimension) / 2);
    }
    if (!value.defined() || value.sizes() != entry.value.sizes())
      fail("{}: expected {} of shape [{}]", other.source_, entry.stored,
           fmt::join(entry.value.sizes(), ", "));
    if (entry.role == Role::replaced) replaced[entry.name] = value;
    entry.value.copy_(entry.by_row ? places_.at(entry.name).to_ours(value) : value);
  }
  model.put(replaced);
}

bool Adapter::has_virtual_tokens() const {
  return config_.kind() == AdapterConfig::Kind::prefix || config_.kind() == AdapterConfig::Kind::prompt;
}

std::vector<std::string> Adapter::replaced() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_)
    if (entry.role == Role::replaced) names.push_back(entry.name);
  return names;
}

std::int64_t Adapter::size() const {
  std::int64_t numbers = 0;
  for (const Entry& entry : entries_)
    if (entry.role != Role::kept) numbers += entry.value.numel();
  return numbers;
}

bool hides_types(const PretrainedModel& model, std::optional<std::int64_t> adapter) {
  const auto& all = model.adapters();
  if (!adapter) return std::ranges::any_of(all, [](const auto& each) { return each->hides_types(); });
  return *adapter >= 0 && all.at(static_cast<std::size_t>(*adapter))->hides_types();
}

}  // namespace attend
