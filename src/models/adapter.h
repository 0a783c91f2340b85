// LoRA (Hu et al. 2021, arXiv:2106.09685) as PEFT stores it: adapter_config.json and
// adapter_model.safetensors (or .bin). W + scale B A takes the place of W when a model is loaded.
#pragma once

#include "formats/json.h"
#include "formats/tensor_file.h"
#include "nn/torch.h"

#include <filesystem>
#include <map>
#include <set>

namespace attend {

class Adapter {
 public:
  // Error for another method than LoRA, a variant of it that computes something else, and tensors that do not
  // belong to it.
  explicit Adapter(const std::filesystem::path& directory);

  // `names`: the spellings of one tensor of the checkpoint.
  // What takes its place (a trained head, a trained bias), in the checkpoint's layout; or undefined.
  Tensor replacement(const std::vector<std::string>& names) const;
  // What is added to it, as our [out, in]; or undefined.
  Tensor difference(const std::vector<std::string>& names) const;
  // Is that one for an embedding?
  bool changes_embedding(const std::vector<std::string>& names) const;
  // Error if there is a tensor for which nobody has asked.
  void check_used() const;

  const std::string& source() const { return source_; }

 private:
  struct Factors {
    Tensor a, b;
    bool embedding = false;
  };
  const std::string* find_factors(const std::vector<std::string>& names) const;
  double scale_of(const std::string& module, std::int64_t rank) const;

  Fields config_;
  std::string source_;
  std::map<std::string, Tensor> replacements_;  // by the names of the model without the adapter
  std::map<std::string, Factors> factors_;      // by the names of the matrices that they are added to
  mutable std::set<std::string> used_;
};

}  // namespace attend
