#include "formats/tensors/safetensors.h"

#include "base/file.h"
#include "formats/json/json.h"
#include "temporary_directory.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The bytes of a file with this header and this much data.
std::string raw_file(std::string_view header, std::size_t data_bytes = 0) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += header;
  for (std::size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

class Safetensors : public testing::Test {
 protected:
  SafetensorsFile open(std::string_view content) {
    return SafetensorsFile(directory_.file("t.safetensors", content));
  }

  // The error for a file with one tensor "x" of this description and eight bytes of data.
  std::string error_with(const std::string& description) {
    return error_with_header("{\"x\":" + description + "}");
  }
  std::string error_with_header(std::string_view header, std::size_t data_bytes = 8) {
    const std::string message = error_of([&] { open(raw_file(header, data_bytes)); });
    const std::string prefix = (directory_.path() / "t.safetensors").string() + ": ";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.substr(std::min(prefix.size(), message.size()));
  }

  TemporaryDirectory directory_;
};

TEST_F(Safetensors, ReadsTensorsAndMetadata) {
  const auto file = open(raw_file(R"({"__metadata__":{"format":"pt"},
      "b":{"dtype":"I16","shape":[2,2],"data_offsets":[4,12]},
      "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
      "none":{"dtype":"F64","shape":[0,3],"data_offsets":[12,12]},
      "first":{"dtype":"BOOL","shape":[5,0],"data_offsets":[0,0]}})",
                                  12));
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(file.tensors().size(), 4u);
  const TensorView& b = file.tensors().at("b");
  EXPECT_EQ(b.type, DType::i16);
  EXPECT_EQ(b.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(b.count(), 4u);
  EXPECT_EQ(b.data.size(), 8u);
  EXPECT_EQ(b.data.front(), std::byte{4});
  EXPECT_EQ(file.tensors().at("a").count(), 1u);
  EXPECT_EQ(file.tensors().at("none").count(), 0u);
}

TEST_F(Safetensors, AFileMayHoldNothing) {
  EXPECT_TRUE(open(raw_file("{}")).tensors().empty());
  EXPECT_TRUE(open(raw_file("{}      ")).tensors().empty());  // padded, as by other writers
}

TEST_F(Safetensors, RefusesWhatIsNotSafetensors) {
  const auto error = [&](std::string_view content) { return error_of([&] { open(content); }); };
  EXPECT_TRUE(contains(error(""), "expected at least 8 bytes, found 0"));
  EXPECT_TRUE(contains(error("1234567"), "expected at least 8 bytes, found 7"));
  EXPECT_TRUE(contains(error(std::string(8, '\xFF')), "expected a header of at most 100000000 bytes"));
  EXPECT_TRUE(contains(error("PK\x03\x04 a zip file, as torch.save writes"), "not a safetensors file"));
  EXPECT_TRUE(contains(error("version https://git-lfs.github.com/spec/v1\noid"), "git lfs pull"));
  EXPECT_TRUE(contains(error(raw_file("{}").substr(0, 9)), "cut off: expected a header of 2 bytes, found 1"));
  EXPECT_TRUE(
      contains(error(std::string("\x00\xE1\xF5\x05\0\0\0\0", 8)), "cut off: expected a header of 100000000"));
  EXPECT_TRUE(contains(error(raw_file("")), "not valid JSON"));
  EXPECT_TRUE(contains(error(raw_file("{\"a\"")), "header: not valid JSON at line 1"));
  EXPECT_TRUE(contains(error(raw_file("[]")), "header: expected a JSON object, found []"));
  EXPECT_TRUE(contains(error(raw_file(std::string(100'000, '['))), "nested deeper"));
}

TEST_F(Safetensors, RefusesTypesItDoesNotKnow) {
  for (const std::string type : {"F8_E4M3", "F8_E5M2", "U16", "C64", "F4", "f32", ""})
    EXPECT_TRUE(contains(
        error_with("{\"dtype\":\"" + type + "\",\"shape\":[8],\"data_offsets\":[0,8]}"),
        "tensor \"x\": dtype: expected F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL, found \"" + type +
            "\""));
  EXPECT_EQ(error_with(R"({"dtype":7,"shape":[8],"data_offsets":[0,8]})"),
            "tensor \"x\": dtype: expected a text, found 7");
}

TEST_F(Safetensors, RefusesIncompleteEntries) {
  EXPECT_EQ(error_with("7"), "tensor \"x\": expected a JSON object, found 7");
  EXPECT_EQ(error_with("{}"), "tensor \"x\": dtype: expected a text, found nothing");
  EXPECT_EQ(error_with(R"({"dtype":"U8","data_offsets":[0,8]})"),
            "tensor \"x\": shape: expected a list of integers, found nothing");
  EXPECT_EQ(error_with(R"({"dtype":"U8","shape":8,"data_offsets":[0,8]})"),
            "tensor \"x\": shape: expected a list of integers, found 8");
  EXPECT_EQ(error_with(R"({"dtype":"U8","shape":[8]})"),
            "tensor \"x\": data_offsets: expected a list of integers, found nothing");
}

TEST_F(Safetensors, RefusesShapesThatCannotBe) {
  const auto error = [&](const std::string& shape) {
    return error_with("{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[0,8]}");
  };
  EXPECT_TRUE(contains(error("[-2]"), "shape: expected sizes of at least 0 whose product fits in 63 bits"));
  EXPECT_TRUE(contains(error("[4294967296,4294967296]"), "fits in 63 bits"));
  EXPECT_TRUE(contains(error("[4611686018427387904]"), "fits in 63 bits"));      // times 4 bytes
  EXPECT_TRUE(contains(error("[0,9223372036854775807,3]"), "fits in 63 bits"));  // its strides do not
  EXPECT_TRUE(contains(error("[2305843009213693953,4,2]"), "fits in 63 bits"));  // 8 modulo 2^64
  EXPECT_TRUE(contains(error("[18446744073709551615]"), "expected an integer or a list"));
  EXPECT_TRUE(contains(error("[1.5]"), "expected an integer or a list"));
  EXPECT_TRUE(contains(error("[true]"), "expected an integer or a list"));
  EXPECT_TRUE(contains(error("[3]"), "expected 12 bytes for F32 [3], found 8"));
  EXPECT_TRUE(contains(error("[]"), "expected 4 bytes for F32 [], found 8"));
}

TEST_F(Safetensors, RefusesOffsetsThatDoNotFit) {
  const auto error = [&](const std::string& offsets) {
    return error_with("{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":" + offsets + "}");
  };
  for (const char* offsets : {"[8,0]", "[-8,0]", "[0]", "[0,8,8]", "[]"})
    EXPECT_TRUE(contains(error(offsets), "expected two integers, the second not smaller")) << offsets;
  EXPECT_TRUE(contains(error("[0,9]"), "expected 8 bytes"));
  EXPECT_TRUE(
      contains(error("[1,9]"), "expected its data to begin at 0, where the tensor before it ends, found 1"));
  EXPECT_TRUE(contains(error("[9223372036854775799,9223372036854775807]"),
                       "expected its data within the 8 bytes of the file"));
  EXPECT_EQ(error_with_header(R"({"x":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", 7),
            "the tensors take 8 bytes, but the file has 7 bytes of data: it is cut off");
  EXPECT_EQ(error_with_header(R"({"x":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", 9),
            "the tensors take 8 bytes, but the file has 9 bytes of data");
  EXPECT_EQ(error_with_header("{}", 1), "the tensors take 0 bytes, but the file has 1 bytes of data");
}

TEST_F(Safetensors, RefusesOverlapsHolesAndDoubles) {
  const auto two = [](const char* first, const char* second) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},)"
                       R"("b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
                       first, second);
  };
  EXPECT_NO_THROW(
      open(raw_file(two("[4,8]", "[0,4]"), 8)));  // not in the order of the header, as in old files
  EXPECT_TRUE(
      contains(error_with_header(two("[0,4]", "[2,6]")), "tensor \"b\": expected its data to begin at 4"));
  EXPECT_TRUE(contains(error_with_header(two("[0,4]", "[0,4]")),
                       "begin at 4, where the tensor before it ends, found 0"));
  EXPECT_TRUE(contains(error_with_header(two("[0,4]", "[5,9]"), 9),
                       "begin at 4, where the tensor before it ends, found 5"));
  EXPECT_EQ(error_with_header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                              R"("a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})"),
            "header: the name \"a\" occurs twice in one object");
}

TEST_F(Safetensors, RefusesMetadataThatIsNoText) {
  EXPECT_EQ(error_with_header(R"({"__metadata__":{"a":1}})", 0),
            "__metadata__: \"a\": expected a text, found 1");
  EXPECT_EQ(error_with_header(R"({"__metadata__":[]})", 0), "__metadata__: expected a JSON object, found []");
}

TEST_F(Safetensors, ViewsOutliveTheFileObject) {
  const fs::path path = directory_.file(
      "t.safetensors", raw_file(R"({"x":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", 8));
  auto file = std::make_unique<SafetensorsFile>(path);
  const SafetensorsFile copy = *file;
  file.reset();
  fs::remove(path);
  EXPECT_EQ(copy.tensors().at("x").data.back(), std::byte{7});
}

// The reference implementation (Python's safetensors 0.8) writes exactly these bytes for these tensors.
TEST_F(Safetensors, WritesTheBytesOfTheReferenceImplementation) {
  const std::string data = "abcdefghijklmnop";
  const auto view = [&](DType type, std::vector<std::int64_t> shape, std::size_t size) {
    return TensorView{type, std::move(shape), bytes_of(data).first(size)};
  };
  const fs::path path = directory_.path() / "w.safetensors";
  write_safetensors(path, {{"b", view(DType::boolean, {2, 1}, 2)},
                           {"a \"ä\n", view(DType::f32, {2}, 8)},
                           {"Z", view(DType::f32, {}, 4)},
                           {"h", view(DType::f16, {0, 3}, 0)},
                           {"g", view(DType::bf16, {1}, 2)},
                           {"i", view(DType::i64, {1}, 8)},
                           {"d", view(DType::f64, {1}, 8)}});
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
      R"("d":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},"Z":{"dtype":"F32","shape":[],"data_offsets":[16,20]},)"
      R"("a \"ä\n":{"dtype":"F32","shape":[2],"data_offsets":[20,28]},)"
      R"("g":{"dtype":"BF16","shape":[1],"data_offsets":[28,30]},)"
      R"("h":{"dtype":"F16","shape":[0,3],"data_offsets":[30,30]},)"
      R"("b":{"dtype":"BOOL","shape":[2,1],"data_offsets":[30,32]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(read_file(path), raw_file(padded) +
                                 "abcdefgh"
                                 "abcdefgh"
                                 "abcd"
                                 "abcdefgh"
                                 "ab"
                                 "ab");
}

TEST_F(Safetensors, WritesWhatItReads) {
  const std::string data = "0123456789abcdef";
  std::map<std::string, TensorView> tensors;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                           DType::i16, DType::i8, DType::u8, DType::boolean})
    tensors[std::string(name(type))] = {type, {2, 1}, bytes_of(data).first(2 * size_of(type))};
  const fs::path path = directory_.path() / "w.safetensors";
  write_safetensors(path, tensors, {{"b", "2"}, {"a", "1"}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}));
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const auto& [key, tensor] : tensors) {
    const TensorView& read = file.tensors().at(key);
    EXPECT_EQ(read.type, tensor.type);
    EXPECT_EQ(read.shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(read.data, tensor.data));
    EXPECT_EQ((read.data.data() - file.mapping().bytes().data()) %
                  static_cast<std::ptrdiff_t>(size_of(tensor.type)),
              0)
        << key;
  }
}

TEST_F(Safetensors, WritesNothingThatCannotBeRead) {
  const fs::path path = directory_.path() / "w.safetensors";
  const auto error = [&](const std::string& key, TensorView view) {
    return error_of([&] { write_safetensors(path, {{key, std::move(view)}}); });
  };
  EXPECT_TRUE(contains(error("x", {DType::f32, {2}, bytes_of("1234567")}),
                       "tensor \"x\": 7 bytes do not match F32 [2]"));
  EXPECT_TRUE(contains(error("x", {DType::u8, {-1}, {}}), "do not match"));
  EXPECT_TRUE(contains(error("__metadata__", {DType::u8, {0}, {}}), "cannot be named"));
  EXPECT_TRUE(contains(error("\xFF", {DType::u8, {0}, {}}), "cannot be named"));
  EXPECT_TRUE(contains(error_of([&] { write_safetensors(path, {}, {{"a", "\xFF"}}); }), "not valid UTF-8"));
  EXPECT_EQ(directory_.count(), 0u);
}

// A damaged file is read or rejected, without a crash or a view outside of the file.
TEST_F(Safetensors, SurvivesDamagedFiles) {
  const std::string data = "0123456789abcdef0123456789abcdef";
  const fs::path path = directory_.path() / "whole.safetensors";
  write_safetensors(path, {{"weight", {DType::f32, {2, 4}, bytes_of(data)}},
                           {"scale", {DType::f16, {3}, bytes_of(data).first(6)}},
                           {"mask", {DType::boolean, {1, 1, 5}, bytes_of(data).first(5)}},
                           {"none", {DType::i64, {0, 7}, {}}}});
  const std::string whole = read_file(path);
  std::size_t read = 0, refused = 0;
  const auto attempt = [&](std::string_view content) {
    try {
      const auto file = open(content);
      const auto bytes = file.mapping().bytes();
      for (const auto& [key, tensor] : file.tensors()) {
        if (tensor.data.empty()) continue;
        ASSERT_GE(tensor.data.data(), bytes.data());
        ASSERT_LE(tensor.data.data() + tensor.data.size(), bytes.data() + bytes.size());
      }
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  };

  for (std::size_t size = 0; size < whole.size(); ++size) attempt(whole.substr(0, size));
  EXPECT_EQ(read, 0u);  // no part of a file is accepted as a whole file

  std::mt19937 random(20240501);
  const std::string_view alphabet =
      "0123456789-+.eE\"\\[]{},: \n\x80\xFF";  // characters that can change a header
  for (int round = 0; round < 5'000; ++round) {
    std::string damaged = whole;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % (damaged.size() - data.size());
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
          break;
        case 1:
          damaged[at] = alphabet[random() % alphabet.size()];
          break;
        case 2:
          damaged.erase(at, 1 + random() % 20);
          break;
        case 3:
          damaged.insert(at, damaged, random() % damaged.size(), 1 + random() % 20);
          break;
      }
      if (damaged.size() <= data.size()) damaged = whole;
    }
    attempt(damaged);
  }
  EXPECT_GT(read, 25u);  // a changed name or letter of the metadata is still valid
  EXPECT_GT(refused, 2'500u);
}

}  // namespace
}  // namespace attend
