#include "formats/tensors/pickle_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace attend::pickle_names {

std::optional<DType> storage_type(const Name& name) {
  constexpr std::pair<std::string_view, DType> types[] = {
      {"DoubleStorage", DType::f64},    {"FloatStorage", DType::f32}, {"HalfStorage", DType::f16},
      {"BFloat16Storage", DType::bf16}, {"LongStorage", DType::i64},  {"IntStorage", DType::i32},
      {"ShortStorage", DType::i16},     {"CharStorage", DType::i8},   {"ByteStorage", DType::u8},
      {"BoolStorage", DType::boolean},
  };
  if (name.module != "torch") return {};
  for (const auto& [storage, type] : types)
    if (name.name == storage) return type;
  return {};
}

bool is_dictionary(const Name& n) {
  return n.module == "collections" && n.name == "OrderedDict";
}
bool is_tensor(const Name& n) {
  return n.module == "torch._utils" && n.name == "_rebuild_tensor_v2";
}
bool is_parameter(const Name& n) {
  return n.module == "torch._utils" && n.name == "_rebuild_parameter";
}

bool is_passed_over(const Name& n) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"collections", "Counter"},
      {"re", "_compile"},
      {"sacremoses.normalize", "MosesPunctNormalizer"},
      {"sacremoses.tokenize", "MosesTokenizer"},
      {"sacremoses.tokenize", "MosesDetokenizer"},
      {"tokenizers", "AddedToken"},
      {"transformers.tokenization_utils", "Trie"},
  };
  return std::ranges::find(names, std::pair(n.module, n.name)) != std::end(names);
}

}  // namespace attend::pickle_names
