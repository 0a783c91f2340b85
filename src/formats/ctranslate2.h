// model.bin, CTranslate2's model file: variables by name, followed by aliases. A "spec" and its revision
// define what the variables mean (ctranslate2_model.h). The layout is that of model_spec.py in the Python
// package ctranslate2. Only binary version 6 is read, which CTranslate2 has written since version 3.0,
// together with a config.json.
#pragma once

#include "formats/tensor_file.h"

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
  std::vector<std::int64_t> shape;  // none: a single number
  std::span<const std::byte> data;

  // Element i, in the order of the file; floating-point types keep NaN and infinities.
  float at(std::size_t i) const;
};

// What the bytes of a file say; all of it views of them. Everything is checked while it is read: lengths and
// counts against what is left of the file, types, names that come once, aliases of variables that are there.
class CTranslate2 {
 public:
  // `source` names the file in errors.
  CTranslate2(std::span<const std::byte> bytes, std::string source);

  const std::string& spec() const { return spec_; }
  std::uint32_t revision() const { return revision_; }
  const std::string& source() const { return source_; }
  // All names; an alias has the same bytes as the variable that it stands for.
  const std::map<std::string, CTranslate2Variable>& variables() const { return variables_; }

  // Null: there is none.
  const CTranslate2Variable* find(const std::string& name) const;
  // Error if it is missing or has another number of dimensions.
  const CTranslate2Variable& get(const std::string& name, std::size_t dimensions) const;
  // Do both names stand for one variable?
  bool are_one(const std::string& first, const std::string& second) const;
  // A single number, whatever its type; nothing if there is none of the name.
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
