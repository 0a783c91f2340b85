// The names that a pickle may use: those in files of weights and vocabularies. Nothing is executed.
#pragma once

#include "formats/tensors/tensor_file.h"

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace attend::pickle_names {

struct Name {  // module.name: what a pickle may call
  std::string_view module, name;
  std::string text() const { return fmt::format("{}.{}", module, name); }
};

std::optional<DType> storage_type(const Name& name);
bool is_dictionary(const Name& name);
bool is_tensor(const Name& name);
bool is_parameter(const Name& name);
// Objects that transformers writes into a vocab.pkl besides the words. They are ignored.
bool is_passed_over(const Name& name);

}  // namespace attend::pickle_names
