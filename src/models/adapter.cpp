#include "models/adapter.h"

#include "base/error.h"
#include "formats/pickled_tensors.h"
#include "models/tensors.h"
#include "tokenizers/pattern.h"

#include <cmath>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Fields that make another function of the factors.
constexpr const char* variants[] = {"use_dora",
                                    "use_qalora",
                                    "use_bdlora",
                                    "lora_bias",
                                    "alora_invocation_tokens",
                                    "arrow_config",
                                    "layer_replication",
                                    "monteclora_config",
                                    "kasa_config",
                                    "target_parameters",
                                    "velora_config",
                                    "trainable_token_indices"};

Fields read_config(const fs::path& directory) {
  const fs::path path = directory / "adapter_config.json";
  Fields config(read_json(path), path.string());
  if (const std::string type = config.text({"peft_type"}); type != "LORA")
    fail("{}: peft_type: only LORA is supported, found {}", path.string(), shown(Json(type)));
  for (const char* name : variants) {
    const Json value = config.json().value(name, Json());
    if (!value.is_null() && value != false && !(value.is_structured() && value.empty()))
      fail("{}: {}: this variant of LoRA is not supported, found {}", path.string(), name, shown(value));
  }
  return config;
}

fs::path find_file(const fs::path& directory) {
  for (const char* name : {"adapter_model.safetensors", "adapter_model.bin"})
    if (file_exists(directory / name)) return directory / name;
  fail("{}: there is no adapter_model.safetensors in it", directory.string());
}

// Cuts `end` off; false if it is not there.
bool cut_end(std::string& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.resize(text.size() - end.size());
  return true;
}

// PEFT's get_pattern_key: does a module's name, or its end behind a dot, match?
bool matches_module(const std::string& expression, const std::string& module, const std::string& source) {
  const auto pattern = tokenizers::Pattern::regex("\\A(?:.*\\.)?(?:" + expression + ")\\z", source);
  std::vector<TextSpan> found;
  pattern.find_all(module, found);
  return !found.empty();
}

}  // namespace

Adapter::Adapter(const fs::path& directory)
    : config_(read_config(directory)), source_(find_file(directory).string()) {
  const TensorFile file = open_tensor_file(source_);
  for (const auto& [stored, view] : file.tensors()) {
    constexpr std::string_view prefix = "base_model.model.";
    std::string name = stored;
    if (!name.starts_with(prefix) || !is_floating(view.type))
      fail("{}: expected tensors of numbers called {}..., found {}", source_, prefix, shown(Json(stored)));
    name.erase(0, prefix.size());
    const Tensor tensor = copy_tensor(view).to(at::kFloat);
    if (cut_end(name, ".lora_A.weight")) {
      factors_[name + ".weight"].a = tensor;
    } else if (cut_end(name, ".lora_B.weight")) {
      factors_[name + ".weight"].b = tensor;
    } else if (cut_end(name, ".lora_embedding_A")) {
      factors_[name + ".weight"].a = tensor;
      factors_[name + ".weight"].embedding = true;
    } else if (cut_end(name, ".lora_embedding_B")) {
      factors_[name + ".weight"].b = tensor;
    } else if (name.find(".lora_") != name.npos) {
      fail("{}: {} belongs to a variant of LoRA that is not supported", source_, shown(Json(stored)));
    } else {
      // With bias "all" PEFT also stores the bias that a trained module has replaced.
      if (name.find(".original_module.") != name.npos) continue;
      for (std::string_view wrapper : {".base_layer", ".modules_to_save"})
        if (const auto at = name.rfind(std::string(wrapper) + "."); at != name.npos)
          name.erase(at, wrapper.size());
      replacements_[name] = tensor;
    }
  }
  for (const auto& [name, factors] : factors_) {
    const auto& [a, b, embedding] = factors;
    if (!a.defined() || !b.defined() || a.dim() != 2 || b.dim() != 2 || a.size(0) != b.size(1))
      fail("{}: {}: expected two factors [rank, in] and [out, rank]", source_, shown(Json(name)));
  }
}

double Adapter::scale_of(const std::string& module, std::int64_t rank) const {
  double alpha = config_.number({"lora_alpha"}, 8);
  const Json patterns = config_.json().value("alpha_pattern", Json());
  if (patterns.is_object())
    for (const auto& [expression, value] : patterns.items())
      if (matches_module(expression, module, config_.source() + ": alpha_pattern")) {
        if (!value.is_number())
          fail("{}: alpha_pattern: expected numbers, found {}", config_.source(), shown(value));
        alpha = value.get<double>();
        break;
      }
  // Kalajdzievski 2023, arXiv:2312.03732.
  const bool by_root = config_.flag({"use_rslora"}, false);
  return alpha / (by_root ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank));
}

Tensor Adapter::replacement(const std::vector<std::string>& names) const {
  for (const std::string& name : names)
    if (const auto found = replacements_.find(name); found != replacements_.end()) {
      used_.insert(name);
      return found->second;
    }
  return {};
}

const std::string* Adapter::find_factors(const std::vector<std::string>& names) const {
  for (const std::string& name : names)
    if (const auto found = factors_.find(name); found != factors_.end()) return &found->first;
  return nullptr;
}

bool Adapter::changes_embedding(const std::vector<std::string>& names) const {
  const std::string* name = find_factors(names);
  return name != nullptr && factors_.at(*name).embedding;
}

Tensor Adapter::difference(const std::vector<std::string>& names) const {
  const std::string* name = find_factors(names);
  if (name == nullptr) return {};
  used_.insert(*name);
  const auto& [a, b, embedding] = factors_.at(*name);
  constexpr std::string_view end = ".weight";
  const Tensor product = at::matmul(b, a) * scale_of(name->substr(0, name->size() - end.size()), a.size(0));
  return embedding ? product.t() : product;
}

void Adapter::check_used() const {
  const auto check = [&](const auto& tensors) {
    for (const auto& [name, tensor] : tensors)
      if (used_.count(name) == 0) fail("{}: {} has no place in the model", source_, shown(Json(name)));
  };
  check(replacements_);
  check(factors_);
}

}  // namespace attend
