// Converts between safetensors and Tensor.
#include "models/weights/tensors.h"

namespace attend {
namespace {

constexpr std::pair<DType, ScalarType> kTypes[] = {
    {DType::f64, kDouble}, {DType::f32, kFloat},    {DType::f16, kHalf},  {DType::bf16, kBFloat16},
    {DType::i64, kLong},   {DType::i32, kInt},      {DType::i16, kShort}, {DType::i8, kChar},
    {DType::u8, kByte},    {DType::boolean, kBool},
};

ScalarType scalar_type(DType type) {
  for (const auto& [ours, torchs] : kTypes)
    if (ours == type) return torchs;
  fail("tensors of type {} are not supported", name(type));
}

DType dtype(const Tensor& tensor) {
  for (const auto& [ours, torchs] : kTypes)
    if (torchs == tensor.type()) return ours;
  fail("tensors of type {} cannot be written", name_of(tensor.type()));
}

// The shape in which the numbers are contiguous.
std::vector<std::int64_t> stored_shape(const TensorView& view) {
  std::vector<std::int64_t> shape = view.shape;
  if (view.transposed) std::swap(shape.at(0), shape.at(1));
  return shape;
}

Tensor as_wanted(Tensor tensor, const TensorView& view) {
  return view.transposed ? tensor.t() : tensor;
}

}  // namespace

Tensor copy_tensor(const TensorView& view) {
  Tensor tensor = ops::empty(stored_shape(view), scalar_type(view.type));
  if (view.code)
    view.code->decode({tensor.data<float>(), static_cast<std::size_t>(tensor.numel())});
  else
    std::memcpy(tensor.data(), view.data.data(), view.data.size());
  return as_wanted(tensor, view);
}

Tensor map_tensor(const TensorView& view, const std::shared_ptr<const void>& owner) {
  if (view.code || reinterpret_cast<std::uintptr_t>(view.data.data()) % size_of(view.type) != 0)
    return copy_tensor(view);
  // The deleter's copy of the owner keeps it alive as long as the tensor.
  return as_wanted(ops::from_memory(
                       const_cast<std::byte*>(view.data.data()), stored_shape(view), [owner](void*) {},
                       scalar_type(view.type)),
                   view);
}

void write_tensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::map<std::string, Tensor> host;
  std::map<std::string, TensorView> views;
  for (const auto& [name, tensor] : tensors) {
    const Tensor& t = host[name] = tensor.detach().contiguous();
    views[name] = {dtype(t),
                   t.sizes().vec(),
                   {static_cast<const std::byte*>(t.const_data()), static_cast<std::size_t>(t.bytes())}};
  }
  write_safetensors(path, views, metadata);
}

std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, view] : file.tensors()) tensors[name] = copy_tensor(view);
  return tensors;
}

std::map<std::string, Tensor> map_tensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<const SafetensorsFile>(path);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, view] : file->tensors()) tensors[name] = map_tensor(view, file);
  return tensors;
}

}  // namespace attend
