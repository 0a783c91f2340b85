// GGUF files: numbers of every type, compared with the Python package gguf (tests/oracle/check_gguf.py), and
// all errors in a file.
#include "sources/gguf/gguf.h"

#include <attend/error.h>

#include "base/file.h"
#include "expect_error.h"
#include "formats/tensors/safetensors.h"
#include "sources/gguf/gguf_encode.h"
#include "sources/gguf/gguf_model.h"
#include "sources/gguf/gguf_parts.h"
#include "sources/gguf/gguf_writer.h"
#include "sources/model_directory.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

const fs::path data = test_data() / "gguf";

Gguf parse(const std::string& bytes) {
  return {std::as_bytes(std::span(bytes)), "file"};
}

std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Builds a file.
struct Writer {
  std::string bytes;

  template <class Number>
  Writer& number(Number value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<std::uint64_t>(value.size()));
    bytes += value;
    return *this;
  }
  Writer& begin(std::uint64_t tensors, std::uint64_t keys) {
    bytes = "GGUF";
    return number(std::uint32_t{3}).number(tensors).number(keys);
  }
  // A tensor of 32 x rows numbers in blocks of Q8_0.
  Writer& tensor(std::string_view name, std::uint64_t columns, std::uint64_t rows, std::uint64_t offset,
                 std::uint32_t type = 8) {
    return text(name).number(std::uint32_t{2}).number(columns).number(rows).number(type).number(offset);
  }
  Writer& padding(std::size_t more) {
    bytes.resize((bytes.size() + 31) / 32 * 32 + more);
    return *this;
  }
};

TEST(Gguf, HasTheNumbersOfEveryType) {
  const MappedFile file(data / "blocks.gguf");
  const Gguf gguf(file.bytes(), "blocks.gguf");
  const SafetensorsFile expected(data / "blocks.safetensors");
  ASSERT_EQ(gguf.tensors().size(), expected.tensors().size());
  ASSERT_EQ(gguf.tensors().size(), 23U);
  for (const auto& [name, tensor] : gguf.tensors()) {
    const TensorView& wanted = expected.tensors().at(name);
    EXPECT_EQ(tensor.type->name, name);
    EXPECT_EQ(tensor.shape, wanted.shape);
    std::vector<float> numbers(wanted.count());
    decode_blocks(*tensor.type, tensor.data, numbers);
    EXPECT_EQ(std::memcmp(numbers.data(), wanted.data.data(), wanted.data.size()), 0) << name;
  }
  EXPECT_EQ(gguf.integers("numbers"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(gguf.texts("texts"), (std::vector<std::string_view>{"a", "bc", ""}));
  EXPECT_EQ(gguf.metadata().number({"half"}), 0.5);
  EXPECT_ERROR("numbers: expected an array of texts", gguf.texts("numbers"));
  EXPECT_ERROR("nothing: expected an array of integers, found none", gguf.integers("nothing"));
}

// For weights as blocks: a number is scale * integer + start, to the last bit.
TEST(Gguf, TellsTheScalesOfGroups) {
  const MappedFile file(data / "blocks.gguf");
  const Gguf gguf(file.bytes(), "blocks.gguf");
  int types = 0;
  for (const auto& [name, tensor] : gguf.tensors()) {
    const BlockType& type = *tensor.type;
    if (type.group == 0) continue;
    ++types;
    std::vector<float> numbers(tensor.data.size() / type.bytes * type.count);
    decode_blocks(type, tensor.data, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto [scale, start] =
          type.scale(tensor.data.data() + i / type.count * type.bytes, i % type.count / type.group);
      ASSERT_TRUE(type.has_starts || start == 0) << name;
      const float whole = scale == 0 ? 0 : std::nearbyint((numbers[i] - start) / scale);
      ASSERT_EQ(scale * whole + start, numbers[i]) << name << ", number " << i;
      ASSERT_GE(whole, type.lowest - (name == "Q8_0" ? 1 : 0)) << name;  // a block of any bytes may have -128
      ASSERT_LE(whole, type.highest) << name;
    }
  }
  EXPECT_EQ(types, 12);
}

TEST(Gguf, WidensEveryFloat16) {
  EXPECT_EQ(from_float16(0x3C00), 1.0F);
  EXPECT_EQ(from_float16(0xC000), -2.0F);
  EXPECT_EQ(from_float16(0x7BFF), 65504.0F);
  EXPECT_EQ(from_float16(0x0001), 0x1p-24F);
  EXPECT_EQ(from_float16(0x83FF), -1023 * 0x1p-24F);
  EXPECT_TRUE(std::isinf(from_float16(0x7C00)));
  EXPECT_TRUE(std::isnan(from_float16(0x7E00)));
}

TEST(Gguf, NamesWhatIsWrong) {
  const auto expect = [](const Writer& writer, std::string_view part) {
    const std::string error = error_of(writer.bytes);
    EXPECT_NE(error.find(part), error.npos) << "expected \"" << part << "\", found \"" << error << "\"";
    EXPECT_EQ(error.find('\n'), error.npos);
  };
  expect({"GGML"}, "does not begin with the letters GGUF");
  expect({"GG"}, "does not begin with the letters GGUF");
  expect(Writer{"GGUF"}.number(std::uint32_t{1}), "expected GGUF version 2 or 3");
  expect(Writer{"GGUF"}.number(std::uint32_t{0x03000000}), "in this machine's byte order");
  expect(Writer().begin(std::uint64_t{1} << 60, 0), "tensors, at most 0 in this file");
  expect(Writer().begin(0, ~std::uint64_t{0}), "keys, at most");
  expect(Writer().begin(0, 1).text("a key that is long enough").number(std::uint32_t{13}), "type, 0 to 12");
  expect(Writer().begin(0, 1).number(~std::uint64_t{0}).number(std::uint64_t{0}), "cut off");
  expect(Writer()
             .begin(0, 2)
             .text("key")
             .number(std::uint32_t{7})
             .number('\1')
             .text("key")
             .number(std::uint32_t{7})
             .number('\1'),
         "key \"key\" occurs twice");
  expect(Writer()
             .begin(0, 1)
             .text("key")
             .number(std::uint32_t{9})
             .number(std::uint32_t{9})
             .number(std::uint64_t{0}),
         "arrays of arrays");
  expect(Writer()
             .begin(0, 1)
             .text("key")
             .number(std::uint32_t{9})
             .number(std::uint32_t{10})
             .number(std::uint64_t{1} << 61),
         "values of key \"key\"");
  expect(Writer().begin(1, 0).tensor("t", 32, 2, 0, 34), "type, number 34, is not supported");
  expect(Writer().begin(1, 0).tensor("t", 33, 2, 0), "a multiple of 32 numbers for Q8_0, found 33");
  expect(Writer().begin(1, 0).tensor("t", 0, 2, 0), "dimension 0: expected a positive number");
  expect(Writer().begin(1, 0).tensor("t", std::uint64_t{1} << 62, 32, 0), "fit into 63 bits");
  expect(Writer().begin(1, 0).tensor("t", 32, 2, 64).padding(200),
         "to begin at 0, after the tensor before it");
  expect(Writer().begin(1, 0).tensor("t", 32, 2, 0).padding(67), "expected 68 bytes at 0, but there are 67");
  expect(Writer().begin(2, 0).tensor("t", 32, 2, 0).tensor("t", 32, 2, 96).padding(200), "occurs twice");
  EXPECT_EQ(error_of(Writer().begin(2, 0).tensor("t", 32, 2, 0).tensor("u", 32, 2, 96).padding(164).bytes),
            "");
}

TEST(Gguf, MakesTheBlocksOfTheReference) {
  const MappedFile file(data / "blocks.gguf");
  const Gguf gguf(file.bytes(), "blocks.gguf");
  const SafetensorsFile sources(data / "sources.safetensors");
  ASSERT_EQ(sources.tensors().size(), 4U);
  for (const auto& [name, source] : sources.tensors()) {
    std::vector<float> numbers(source.count());
    std::memcpy(numbers.data(), source.data.data(), source.data.size());
    const GgufTensor& wanted = gguf.tensors().at(name);
    const std::vector<std::byte> made = encode_blocks(*find_encoded_type(name), numbers);
    EXPECT_TRUE(std::ranges::equal(made, wanted.data)) << name;
  }
  EXPECT_EQ(find_encoded_type("Q5_K"), nullptr);
  EXPECT_ERROR("33 numbers cannot be written as Q8_0",
               encode_blocks(*find_encoded_type("Q8_0"), std::vector<float>(33)));
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits)
    ASSERT_EQ(to_float16(from_float16(static_cast<std::uint16_t>(bits))), bits);
  EXPECT_EQ(to_float16(65520.0F), 0x7C00);
  EXPECT_EQ(to_float16(-0x1p-26F), 0x8000);
}

std::vector<float> encoded_and_decoded(std::string_view name, const std::vector<float>& numbers) {
  const BlockType& type = *find_encoded_type(name);
  std::vector<float> read(numbers.size());
  decode_blocks(type, encode_blocks(type, numbers), read);
  return read;
}

// Of the error to the numbers, as root mean squares.
double share_of_error(std::string_view name, const std::vector<float>& numbers) {
  const std::vector<float> read = encoded_and_decoded(name, numbers);
  double error = 0, all = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    error += std::pow(double{read[i]} - numbers[i], 2);
    all += std::pow(double{numbers[i]}, 2);
  }
  return std::sqrt(error / all);
}

// llama.cpp's own quantizer reaches 0.0705, 0.0176 and 0.0424 for numbers like these.
TEST(Gguf, RoundsBlocksWithScalesForGroupsAsWellAsTheReference) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 0.02F);
  std::vector<float> numbers(std::size_t{256} * 64);
  for (float& each : numbers) each = normal(random);
  EXPECT_LT(share_of_error("Q4_K", numbers), 0.0715);
  EXPECT_LT(share_of_error("Q6_K", numbers), 0.018);
  EXPECT_LT(share_of_error("Q5_0", numbers), 0.043);
}

TEST(Gguf, RoundsBlocksAtTheirLimits) {
  const std::vector<float> zeros(256, 0.0F);
  for (const char* const type : {"Q4_K", "Q6_K", "Q5_0"})
    EXPECT_EQ(encoded_and_decoded(type, zeros), zeros) << type;
  // One scale, one minimum, and integers that fit: the only loss is from storing the two in float16.
  std::vector<float> lines(256), steps(256);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = 0.25F * static_cast<float>(i % 16) - 1.5F;
    steps[i] = 0.5F * (static_cast<float>(i * 7 % 64) - 32);
  }
  EXPECT_LT(share_of_error("Q4_K", lines), 1e-3);
  const std::vector<float> fives = encoded_and_decoded("Q5_0", lines);
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_NEAR(fives[i], lines[i], 2.25 / 32 + 1e-3) << i;  // half a step of 2.25 / 16
  std::vector<float> positive(256);
  for (std::size_t i = 0; i < positive.size(); ++i) positive[i] = 1 + 0.01F * static_cast<float>(i % 11);
  EXPECT_LT(share_of_error("Q4_K", positive), 0.04);  // a minimum below zero does not exist
  EXPECT_LT(share_of_error("Q6_K", positive), 0.02);
}

// One tensor in each of two files.
void write_part(const fs::path& path, int number, const std::string& tensor) {
  GgufWriter writer;
  writer.add("split.count", std::uint32_t{2});
  writer.add("split.no", static_cast<std::uint32_t>(number));
  const BlockType& type = *find_encoded_type("F32");
  writer.add_tensor(tensor, {1}, type, [&type] { return encode_blocks(type, std::vector<float>{7}); });
  writer.write(path);
}

TEST(Gguf, MayBeSeveralFiles) {
  const TemporaryDirectory folder;
  const fs::path first = folder.path() / "model-00001-of-00002.gguf",
                 second = folder.path() / "model-00002-of-00002.gguf", other = folder.path() / "other.gguf";
  write_part(first, 0, "a");
  EXPECT_ERROR("part 2 of 2, " + second.string() + ", is missing", GgufParts{first});
  write_part(second, 1, "b");
  const GgufParts files(first);
  EXPECT_EQ(files.parts().size(), 2U);
  EXPECT_NE(files.find("a"), nullptr);
  EXPECT_NE(files.find("b"), nullptr);
  EXPECT_ERROR("the tensor c is missing", files.tensor("c"));
  EXPECT_ERROR("give the first part, model-00001-of-00002.gguf", GgufParts{second});
  write_part(other, 0, "a");
  EXPECT_ERROR("expected a name that ends with -00001-of-00002.gguf", GgufParts{other});
  write_part(second, 0, "b");
  EXPECT_ERROR("split.no: expected 1, found 0", GgufParts{first});
}

TEST(Gguf, ReadsAsADirectory) {
  const ModelDirectory model((data / "gpt2.gguf").string());
  EXPECT_EQ(model.model_type(), "gpt2");
  EXPECT_EQ(model.config().integer({"n_embd"}), 32);
  EXPECT_FALSE(model.sentence_pooling());
  const WeightFiles checkpoint = model.weight_files();
  const TensorView* matrix = checkpoint.find("transformer.h.0.mlp.c_fc.weight");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->shape, (std::vector<std::int64_t>{32, 64}));
  EXPECT_TRUE(matrix->transposed);
  EXPECT_EQ(matrix->stored_as(), "Q4_0");
  EXPECT_TRUE(ModelDirectory((data / "bert.gguf").string()).sentence_pooling());
  EXPECT_EQ(ModelDirectory((data / "t5.gguf").string()).config().flag({"tie_word_embeddings"}), true);
  EXPECT_ERROR("general.architecture: expected one of",
               ModelDirectory((data / "blocks.gguf").string()));  // without an architecture
}

}  // namespace
}  // namespace attend
