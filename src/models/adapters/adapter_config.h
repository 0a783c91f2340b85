// adapter_config.json as peft writes it (0.21), and the meaning of its fields.
#pragma once

#include "formats/json/json.h"
#include "models/checkpoint/original_modules.h"

namespace attend {

// Options of a new adapter. Empty lists and strings: peft's defaults for the family.
struct AdapterOptions {
  enum class Kind { lora, ia3, prefix, prompt } kind = Kind::lora;
  std::int64_t rank = 8;
  double alpha = 16, dropout = 0;
  bool by_root = false;      // rsLoRA: the scale is alpha / sqrt(rank) (Kalajdzievski 2023, arXiv:2312.03732)
  bool directions = false;   // DoRA
  bool factor_bias = false;  // lora_bias: B has a bias
  // Suffixes of module names; or one regular expression for whole names; or "all-linear".
  std::vector<std::string> targets = {}, excluded = {};
  std::vector<std::string> feed_forward = {};     // IA3: the targets whose input is scaled
  std::vector<std::int64_t> layers = {};          // only these layers
  std::string bias = "none";                      // or "all", "lora_only": which biases of the model are also
                                                  // trained
  std::vector<std::string> modules_to_save = {};  // modules that are trained whole
  std::string initialization = "default";         // or "gaussian", "pissa"
  std::int64_t virtual_tokens = 20;               // prefix and prompt tuning
};

// Whether the module, or a module that contains it, is one of these (suffixes of names, or expressions).
bool is_named_by(const std::vector<std::string>& modules_to_save, const std::string& module);

class AdapterConfig {
 public:
  using Kind = AdapterOptions::Kind;

  // An Error for unsupported methods and variants of LoRA.
  static AdapterConfig read(const std::filesystem::path& directory);
  // For a new adapter of `model`. `task`: peft's ("SEQ_CLS"), or empty. An Error if no targets are given and
  // the family has no default.
  static AdapterConfig make(const AdapterOptions& options, const PretrainedModel& model,
                            const std::string& task);

  Kind kind() const { return kind_; }
  const Fields& fields() const { return fields_; }
  const std::string& source() const { return fields_.source(); }

  // Whether the module is to be adapted.
  bool is_target(const OriginalModule& module) const;
  bool scales_input(const std::string& module) const;  // IA3
  // Whether it is one of modules_to_save, or inside one.
  bool is_saved(const std::string& module) const;
  std::int64_t rank_of(const std::string& module) const;
  double scale_of(const std::string& module, std::int64_t rank) const;

 private:
  AdapterConfig(Fields fields, Kind kind) : fields_(std::move(fields)), kind_(kind) {}
  // The value of the pattern that matches the module, or `otherwise`.
  Json by_pattern(const char* field, const std::string& module, const Json& otherwise) const;

  Fields fields_;
  Kind kind_;
};

}  // namespace attend
