// adapter_config.json as peft writes it (0.21), and the meaning of its fields.
#pragma once

#include "formats/json.h"
#include "models/original_modules.h"

namespace attend {

// What a new adapter is to be. Empty lists and nothing: as peft has it for the family.
struct AdapterOptions {
  enum class Kind { lora, ia3, prefix, prompt } kind = Kind::lora;
  std::int64_t rank = 8;
  double alpha = 16, dropout = 0;
  bool by_root = false;      // rsLoRA: the scale is alpha / sqrt(rank) (Kalajdzievski 2023, arXiv:2312.03732)
  bool directions = false;   // DoRA
  bool factor_bias = false;  // lora_bias: B has a bias
  // Ends of module names; or one regular expression of whole names; or "all-linear".
  std::vector<std::string> targets = {}, excluded = {};
  std::vector<std::string> feed_forward = {};  // IA3: of the targets, those whose input is scaled
  std::vector<std::int64_t> layers = {};       // only these
  std::string bias = "none";                   // or "all", "lora_only": which biases of the model learn too
  std::vector<std::string> modules_to_save = {};  // modules that learn as they are
  std::string initialization = "default";         // or "gaussian", "pissa"
  std::int64_t virtual_tokens = 20;               // prefix and prompt tuning
};

// Is the module, or what it is inside of, one of these (modules_to_save: ends of names, or expressions)?
bool is_named_by(const std::vector<std::string>& modules_to_save, const std::string& module);

class AdapterConfig {
 public:
  using Kind = AdapterOptions::Kind;

  // Error for a method or a variant of LoRA that computes something else.
  static AdapterConfig read(const std::filesystem::path& directory);
  // Of a new adapter for `model`. `task`: peft's ("SEQ_CLS"), or empty. Error for a family without default
  // targets where none are given.
  static AdapterConfig make(const AdapterOptions& options, const PretrainedModel& model,
                            const std::string& task);

  Kind kind() const { return kind_; }
  const Fields& fields() const { return fields_; }
  const std::string& source() const { return fields_.source(); }

  // Is the module to be adapted?
  bool is_target(const OriginalModule& module) const;
  bool scales_input(const std::string& module) const;  // IA3
  // Is it one of modules_to_save, or inside one?
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
