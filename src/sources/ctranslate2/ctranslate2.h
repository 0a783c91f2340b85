// model.bin, CTranslate2's model file: named variables, followed by aliases. A "spec" and its revision define
// the meaning of the variables (ctranslate2_model.h). The layout is that of model_spec.py in the Python
// package ctranslate2. Only binary version 6 is supported, which CTranslate2 has written since version 3.0,
// together with a config.json.
#pragma once

#include "formats/tensors/tensor_file.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

class ByteCursor;

struct CTranslate2Variable {
  DType type = DType::f32;          // f32, i8, i16, i32, f16 or bf16
  std::vector<std::int64_t> shape;  // empty: a single number
  std::span<const std::byte> data;

  // Element i in the file's order; floating-point types keep NaN and infinities.
  float at(std::size_t i) const;
};

// The contents of a file, as views of its bytes. Everything is checked while it is read: lengths and counts
// against the rest of the file, types, unique names, and that aliases refer to existing variables.
class CTranslate2 {
 public:
  // `source` names the file in errors.
  CTranslate2(std::span<const std::byte> bytes, std::string source);

  const std::string& spec() const { return spec_; }
  std::uint32_t revision() const { return revision_; }
  const std::string& source() const { return source_; }
  // All names; an alias has the same bytes as its variable.
  const std::map<std::string, CTranslate2Variable>& variables() const { return variables_; }

  // Null: none.
  const CTranslate2Variable* find(const std::string& name) const;
  // An Error if it is missing or has another number of dimensions.
  const CTranslate2Variable& get(const std::string& name, std::size_t dimensions) const;
  // Whether both names refer to one variable.
  bool are_one(const std::string& first, const std::string& second) const;
  // A single number of any type; none if the name does not exist.
  std::optional<double> number(const std::string& name) const;

 private:
  void read_variable(ByteCursor& cursor);
  void read_alias(ByteCursor& cursor);
  std::string read_name(ByteCursor& cursor, std::string_view what) const;

  std::string source_, spec_;
  std::uint32_t revision_ = 0;
  std::map<std::string, CTranslate2Variable> variables_;
};

}  // namespace attend
