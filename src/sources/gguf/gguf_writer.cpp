#include "sources/gguf/gguf_writer.h"

#include "base/error.h"
#include "base/file.h"

namespace attend {
namespace {

constexpr std::uint64_t alignment = 32;

std::uint64_t padded(std::uint64_t size) {
  return (size + alignment - 1) / alignment * alignment;
}

template <class Number>
void append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_text(std::string& bytes, std::string_view text) {
  append(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

}  // namespace

void GgufWriter::begin(std::string_view key, GgufType type) {
  ++keys_;
  append_text(metadata_, key);
  append(metadata_, static_cast<std::uint32_t>(type));
}

void GgufWriter::begin_array(std::string_view key, GgufType type, std::size_t count) {
  begin(key, GgufType::array);
  append(metadata_, static_cast<std::uint32_t>(type));
  append(metadata_, static_cast<std::uint64_t>(count));
}

void GgufWriter::add(std::string_view key, std::string_view text) {
  begin(key, GgufType::text);
  append_text(metadata_, text);
}

void GgufWriter::add(std::string_view key, std::uint32_t number) {
  begin(key, GgufType::u32);
  append(metadata_, number);
}

void GgufWriter::add(std::string_view key, float number) {
  begin(key, GgufType::f32);
  append(metadata_, number);
}

void GgufWriter::add(std::string_view key, bool flag) {
  begin(key, GgufType::boolean);
  append(metadata_, static_cast<std::uint8_t>(flag ? 1 : 0));
}

void GgufWriter::add(std::string_view key, std::span<const std::string> texts) {
  begin_array(key, GgufType::text, texts.size());
  for (const std::string& text : texts) append_text(metadata_, text);
}

void GgufWriter::add(std::string_view key, std::span<const float> numbers) {
  begin_array(key, GgufType::f32, numbers.size());
  for (const float number : numbers) append(metadata_, number);
}

void GgufWriter::add(std::string_view key, std::span<const std::int32_t> numbers) {
  begin_array(key, GgufType::i32, numbers.size());
  for (const std::int32_t number : numbers) append(metadata_, number);
}

std::uint64_t GgufWriter::Tensor::bytes() const {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
  return count / type->count * type->bytes;
}

void GgufWriter::add_tensor(std::string name, std::vector<std::int64_t> shape, const BlockType& type,
                            Make make) {
  tensors_.push_back({std::move(name), std::move(shape), &type, std::move(make)});
}

void GgufWriter::write(const std::filesystem::path& path) const {
  std::string head = "GGUF";
  append(head, std::uint32_t{3});
  append(head, static_cast<std::uint64_t>(tensors_.size()));
  append(head, keys_);
  head += metadata_;
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    append_text(head, tensor.name);
    append(head, static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size)
      append(head, static_cast<std::uint64_t>(*size));
    append(head, tensor.type->number);
    append(head, offset);
    offset += padded(tensor.bytes());
  }
  head.resize(padded(head.size()));
  AtomicFile file(path);
  file.write(head);
  for (const Tensor& tensor : tensors_) {
    std::vector<std::byte> bytes = tensor.make();
    if (bytes.size() != tensor.bytes())
      fail("{}: tensor {}: expected {} bytes, found {}", path.string(), tensor.name, tensor.bytes(),
           bytes.size());
    bytes.resize(padded(bytes.size()));
    file.write(bytes);
  }
  file.commit();
}

}  // namespace attend
