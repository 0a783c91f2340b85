// Models in GGUF files against the originals with the same weights (tests/oracle/check_gguf.py).
#include "sources/gguf/gguf.h"

#include "base/file.h"
#include "expect_error.h"
#include "models/derived/gguf_export.h"
#include "models/golden.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

class GgufModel : public testing::TestWithParam<const char*> {
 protected:
  fs::path path(const char* ending) const {
    return test_data() / "gguf" / (std::string(GetParam()) + ending);
  }
};

TEST_P(GgufModel, GivesWhatTheOriginalGives) {
  expect_golden(ModelDirectory(path(".gguf").string()), path(".safetensors"));
}

// GPT-2's matrices in the file have our layout: nothing is transposed.
TEST_P(GgufModel, CanBeTrainedAndQuantized) {
  expect_trained_and_quantized(ModelDirectory(path(".gguf").string()));
}

// Integers and scales of the file are kept; only inputs are rounded.
TEST_P(GgufModel, KeepsTheFilesBlocks) {
  ModelPath as_blocks(path(".gguf"));
  as_blocks.weights = WeightFormat::blocks;
  const PretrainedModel exact =
                            PretrainedModel::load(ModelDirectory(path(".gguf").string()), Purpose::training),
                        model = PretrainedModel::load(ModelDirectory(as_blocks), Purpose::inference);
  int found = 0;
  const auto parameters = exact.network()->named_parameters();
  for (const auto& item : parameters) {
    const PackedMatrix* const matrix = model.network()->packed(item.key());
    if (matrix == nullptr || matrix->format() != WeightFormat::blocks) continue;
    ++found;
    EXPECT_TRUE(ops::equal(matrix->dequantized(), item.value())) << item.key();
    const std::int64_t rows = item.value().size(0), first = rows / 3, count = rows - first - 1;
    ops::manual_seed(1);
    const Tensor x = ops::randn({3, item.value().size(1)}),
                 whole = matrix->multiply(x, {}, Activation::none, {}),
                 wanted = ops::matmul(x, item.value().t());
    EXPECT_LT((whole - wanted).abs().max().item<double>(), 0.02 * wanted.abs().max().item<double>())
        << item.key();
    EXPECT_TRUE(ops::equal(matrix->part(x, first, count), whole.narrow(1, first, count))) << item.key();
  }
  const bool is_transposed = std::string_view(GetParam()) == "gpt2";  // but for its token table
  EXPECT_GE(found, is_transposed ? 1 : 4);
}

TEST(GgufFile, OtherFilesHaveNoBlocks) {
  ModelPath path(test_data() / "models" / "llama");
  path.weights = WeightFormat::blocks;
  EXPECT_ERROR(
      "weights as blocks: expected a GGUF file with integers (Q8_0, Q4_0, Q4_K_M, ...), found none; use int8",
      PretrainedModel::load(ModelDirectory(path), Purpose::inference));
}

INSTANTIATE_TEST_SUITE_P(All, GgufModel,
                         testing::Values("gpt2", "gptj", "bert", "t5", "llama-3", "gemma3", "gptneox"));

class WrittenGguf : public testing::TestWithParam<const char*> {};

// Names, rows, norms and fields are converted back without change.
TEST_P(WrittenGguf, GivesWhatTheOriginalGives) {
  const fs::path given = test_data() / "gguf" / (std::string(GetParam()) + ".gguf");
  const TemporaryDirectory folder;
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(given.string()), Purpose::training);
  write_gguf(model, given, "f32", folder.path() / "again.gguf");
  expect_golden(ModelDirectory((folder.path() / "again.gguf").string()),
                fs::path(given).replace_extension(".safetensors"));
}

INSTANTIATE_TEST_SUITE_P(All, WrittenGguf, testing::Values("llama-3", "gemma3", "gptneox"));

// Its rows of 32 to 96 numbers fill no block of 256, so these files have the types that replace Q4_K and
// Q6_K.
TEST(GgufFile, HasMoreBitsForScoresAndSomeLayers) {
  const TemporaryDirectory folder;
  const fs::path given = test_data() / "gguf" / "llama-3.gguf", file = folder.path() / "again.gguf";
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(given.string()), Purpose::training);
  write_gguf(model, given, "q4_k_m", file);
  const MappedFile bytes(file);
  const Gguf gguf(bytes.bytes(), "again.gguf");
  EXPECT_EQ(gguf.tensors().at("blk.0.attn_q.weight").type->name, "Q5_0");
  EXPECT_EQ(gguf.tensors().at("blk.0.attn_norm.weight").type->name, "F32");
  EXPECT_EQ(gguf.tensors().at("token_embd.weight").type->name, "Q5_0");
  EXPECT_EQ(gguf.tensors().at("output.weight").type->name, "Q8_0");
  EXPECT_NO_THROW(PretrainedModel::load(ModelDirectory(file.string()), Purpose::training));
}

TEST(GgufFile, IsOfAFamilyThatLlamaCppHas) {
  const fs::path given = test_data() / "gguf" / "t5.gguf";
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(given.string()), Purpose::training);
  EXPECT_ERROR("expected a language model of one of the families llama, ",
               write_gguf(model, given, "f32", "never.gguf"));
}

}  // namespace
}  // namespace attend
