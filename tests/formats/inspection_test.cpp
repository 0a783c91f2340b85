#include "sources/inspection.h"

#include "formats/tensors/safetensors.h"
#include "temporary_directory.h"

#include <limits>

#include <gtest/gtest.h>

namespace attend {
namespace {

class InspectionTest : public testing::Test {
 protected:
  void SetUp() override {
    write("config.json", R"({"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 3})");
    write("tokenizer.json", R"({"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1}},
                                "added_tokens": [{"id": 2, "content": "c"}]})");
    add("embeddings.weight", DType::f32, {3, 2});
  }

  void write(const std::string& name, std::string_view text) { directory_.file(name, text); }

  void add(const std::string& name, DType type, std::vector<std::int64_t> shape) {
    std::size_t bytes = size_of(type);
    for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    data_[name].resize(bytes);
    tensors_[name] = {type, std::move(shape), data_[name]};
  }

  Inspection inspect(bool check_values = false) {
    write_safetensors(directory_.path() / "model.safetensors", tensors_);
    const ModelDirectory model(directory_.path());
    return inspect_model(model, model.weight_files(), check_values);
  }

  TemporaryDirectory directory_;
  std::map<std::string, std::vector<std::byte>> data_;
  std::map<std::string, TensorView> tensors_;
};

using Remarks = std::vector<std::string>;

TEST_F(InspectionTest, CountsParametersAndMemory) {
  add("layer.weight", DType::f32, {2, 2});
  add("layer.bias", DType::f32, {2});
  add("position_ids", DType::i64, {1, 5});
  add("h.0.attn.bias", DType::f32, {1, 1, 4, 4});
  add("h.0.attn.masked_bias", DType::f32, {});
  const Inspection inspection = inspect();
  EXPECT_EQ(inspection.model_type, "bert");
  EXPECT_EQ(inspection.parameters, 6u + 4u + 2u);
  EXPECT_EQ(inspection.buffers, 5u + 16u + 1u);
  EXPECT_EQ(inspection.types.at("F32").tensors, 5u);
  EXPECT_EQ(inspection.types.at("F32").bytes, 29u * 4);
  EXPECT_EQ(inspection.types.at("I64").values, 5u);
  ASSERT_EQ(inspection.files.size(), 1u);
  EXPECT_EQ(inspection.files[0].bytes, std::filesystem::file_size(directory_.path() / "model.safetensors"));
  EXPECT_EQ(inspection.unusual, Remarks{});
}

TEST_F(InspectionTest, KnowsTheTokenizer) {
  const auto kind = [&] {
    const Inspection inspection = inspect();
    return inspection.tokenizer ? inspection.tokenizer->kind + " of " + inspection.tokenizer->file +
                                      " with " + std::to_string(inspection.tokenizer->vocabulary.value_or(0))
                                : "none";
  };
  EXPECT_EQ(kind(), "WordPiece of tokenizer.json with 3");
  std::filesystem::remove(directory_.path() / "tokenizer.json");
  EXPECT_EQ(kind(), "none");
  EXPECT_EQ(inspect().unusual, Remarks{"there is no tokenizer"});
  write("vocab.txt", "a\nb\n");
  EXPECT_EQ(kind(), "WordPiece of vocab.txt with 2");
  write("merges.txt", "");
  write("vocab.json", R"({"a": 0})");
  EXPECT_EQ(kind(), "BPE of merges.txt with 1");
  write("source.spm", "");
  EXPECT_EQ(kind(), "SentencePiece of source.spm with 1");
  write("tokenizer.json", R"({"model": 7})");
  EXPECT_TRUE(contains(error_of(kind), "tokenizer.json: model: expected a JSON object, found 7"));
}

TEST_F(InspectionTest, ReportsUnusualValues) {
  write("config.json", R"({"vocab_size": 2, "dtype": "float16", "auto_map": {}, "quantization_config": {}})");
  write("pytorch_model.bin", "");
  write("adapter_config.json", "{}");
  write("model.safetensors.index.json", "{}");
  add("empty", DType::f32, {0, 2});
  EXPECT_EQ(inspect().unusual,
            (Remarks{"config.json has no model_type", "config.json names no architecture",
                     "config.json requires its own Python code (auto_map)",
                     "the weights are quantized (quantization_config)", "no tensor has vocab_size (2) rows",
                     "the tokenizer has 3 tokens, more than vocab_size (2)",
                     "model.safetensors is read; model.safetensors.index.json is not",
                     "pytorch_model.bin is not read, because there is a model.safetensors",
                     "there is an adapter (adapter_config.json), which `adapter` applies",
                     "tensor \"empty\" is empty", "config.json says float16, the tensors are F32"}));
}

TEST_F(InspectionTest, ReportsMixedTypes) {
  add("half", DType::f16, {2});
  EXPECT_EQ(inspect().unusual, Remarks{"the tensors are of mixed types: 1 F16, 1 F32"});
}

TEST_F(InspectionTest, FindsNaNAndInfinity) {
  const float values[] = {
      1,     std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 0,
      3e38f, -std::numeric_limits<float>::quiet_NaN()};
  std::memcpy(data_["embeddings.weight"].data(), values, sizeof values);
  EXPECT_EQ(inspect(false).unusual, Remarks{});
  const Remarks found = inspect(true).unusual;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], "tensor \"embeddings.weight\" holds 2 NaN and 1 infinite values");
  EXPECT_TRUE(contains(found[1], "tensor \"embeddings.weight\" holds 1 values of 1.8e19 or more"));
}

TEST(CountOddValues, KnowsEveryType) {
  const auto count = [](DType type, auto... bits) {
    const std::common_type_t<decltype(bits)...> values[] = {bits...};
    const OddValues found = count_odd_values({type, {}, std::as_bytes(std::span(values))});
    return std::tuple(found.nan, found.infinite, found.huge);
  };
  using Counts = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  using U16 = std::uint16_t;
  EXPECT_EQ(count(DType::f16, U16{0x7C00}, U16{0xFC00}, U16{0x7C01}, U16{0xFBFF}), (Counts{1, 2, 0}));
  EXPECT_EQ(count(DType::bf16, U16{0x7F80}, U16{0xFF81}, U16{0x7F7F}, U16{0x7C01}), (Counts{1, 1, 2}));
  EXPECT_EQ(count(DType::bf16, U16{0x5F80}, U16{0x5F7F}, U16{0xDF80}), (Counts{0, 0, 2}));
  EXPECT_EQ(count(DType::f32, 0x5F800000u, 0x5F7FFFFFu, 0xFF800000u), (Counts{0, 1, 1}));
  EXPECT_EQ(count(DType::f64, 0x7FF0000000000000u, 0xFFF0000000000001u, 0x7FEFFFFFFFFFFFFFu),
            (Counts{1, 1, 1}));
  EXPECT_EQ(count(DType::f64, 0x43F0000000000000u, 0x43EFFFFFFFFFFFFFu), (Counts{0, 0, 1}));
  EXPECT_EQ(count(DType::i16, U16{0x7C00}, U16{0xFFFF}), (Counts{0, 0, 0}));
}

}  // namespace
}  // namespace attend
