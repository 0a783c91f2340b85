// Directories with other programs' quantized matrices, against the originals with the dequantized numbers
// (tests/oracle/check_foreign_weights.py); and errors in them.
#include "base/file.h"
#include "models/padded/forward.h"
#include "models/weights/tensors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

const fs::path data = test_data() / "foreign";

class ForeignWeights : public testing::TestWithParam<const char*> {};

TEST_P(ForeignWeights, StandForWhatTheOriginalComputesWith) {
  const fs::path directory = data / GetParam();
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(directory), Purpose::inference);
  const auto found = run_forward(model, read_tensors(directory / "inputs.safetensors"), {});
  const Tensor expected = read_tensors(directory / "expected.safetensors").at("logits");
  ASSERT_EQ(found.at("logits").sizes(), expected.sizes());
  EXPECT_LT((found.at("logits") - expected).abs().max().item<double>(),
            2e-5 * expected.abs().max().item<double>());
}

TEST_P(ForeignWeights, CanBeKeptInFewerBitsOfOurs) {
  const ModelDirectory directory(data / GetParam());
  EXPECT_EQ(PretrainedModel::load(directory, {.weights = WeightFormat::int4}).weights(), WeightFormat::int4);
}

INSTANTIATE_TEST_SUITE_P(All, ForeignWeights,
                         testing::Values("int8", "nf4-double", "gptq4", "awq", "pack4-uneven", "int-channel",
                                         "mxfp4"));

// The error for the directory `form` with some tensors and some fields of its quantization_config changed.
std::string error_of(const char* form, const std::function<void(std::map<std::string, Tensor>&)>& change,
                     const Json& fields = Json::object()) {
  const TemporaryDirectory copy;
  auto tensors = read_tensors(data / form / "model.safetensors");
  change(tensors);
  write_tensors(copy.path() / "model.safetensors", tensors);
  Json config = read_json(data / form / "config.json");
  config["quantization_config"].update(fields);
  write_file_atomically(copy.path() / "config.json", config.dump());
  try {
    PretrainedModel::load(ModelDirectory(copy.path()), Purpose::inference);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BrokenForeignWeights, AreRefusedWithASentence) {
  const std::string module = "transformer.h.0.mlp.c_fc";
  const auto same = [](auto&) {};
  const auto without = [&](const char* part) {
    return [name = module + part](std::map<std::string, Tensor>& tensors) { tensors.erase(name); };
  };
  const auto with = [&](const char* part, const Tensor& tensor) {
    return [name = module + part, tensor](std::map<std::string, Tensor>& tensors) { tensors[name] = tensor; };
  };
  const auto expect = [](const std::string& error, std::string_view part) {
    EXPECT_NE(error.find(part), error.npos) << "expected \"" << part << "\", found \"" << error << "\"";
    EXPECT_EQ(error.find('\n'), error.npos);
  };
  expect(error_of("gptq4", same), "");
  expect(error_of("int8", with(".SCB", ops::ones({3}))), "c_fc.SCB\": expected the shape [48], found [3]");
  expect(error_of("int8", with(".weight_format", ops::ones({1}, kByte))), "expected 0 (row by row)");
  expect(error_of("nf4-double", without(".weight.absmax")), "c_fc.weight.absmax\" is missing");
  expect(error_of("nf4-double", with(".weight.quant_map", ops::ones({15}))), "expected the shape [16]");
  expect(error_of("nf4-double", with(".weight", ops::ones({9, 1}, kByte))), "expected 768 bytes");
  expect(error_of("nf4-double", with(".weight.quant_state.bitsandbytes__nf4", ops::full({3}, 123, kByte))),
         "bitsandbytes__nf4");
  expect(error_of("gptq4", without(".qzeros")), "c_fc.qzeros\" is missing");
  expect(error_of("gptq4", with(".g_idx", ops::full({32}, 2, kInt))), "expected groups 0 to 1, found 2");
  expect(error_of("gptq4", with(".g_idx", ops::full({32}, -1, kInt))), "found -1");
  expect(error_of("gptq4", with(".scales", ops::ones({2, 48}, kInt))), "expected floating-point numbers");
  expect(error_of("gptq4", same, {{"bits", 3}}), "bits: expected 4 or 8, found 3");
  expect(error_of("gptq4", same, {{"checkpoint_format", "marlin"}}), "expected gptq or gptq_v2");
  expect(error_of("gptq4", same, {{"group_size", 0}}), "group_size: expected -1 or a positive number");
  expect(error_of("awq", same, {{"version", "gemv"}}), "version: expected gemm");
  expect(error_of("awq", same, {{"group_size", 5}}), "expected inputs in groups of 5");
  expect(error_of("pack4-uneven", with(".weight_shape", ops::full({2}, 48, kLong))), "does not fit");
  expect(error_of("pack4-uneven", same, {{"format", "float-quantized"}}), "expected pack-quantized");
  expect(error_of("pack4-uneven", same, {{"config_groups", Json::object()}}), "config_groups: expected");
  const std::string experts = "model.layers.0.mlp.experts.down_proj";
  expect(error_of("mxfp4", [&](auto& tensors) { tensors.erase(experts + "_scales"); }),
         "down_proj_scales\" is missing");
  expect(error_of("mxfp4",
                  [&](auto& tensors) {
                    tensors[experts + "_scales"] = ops::ones({3, 32, 1}, kByte);
                  }),
         "expected the shape [3, 32, 2], found [3, 32, 1]");
  expect(error_of("gptq4", same, {{"quant_method", "mxfp4"}}), "no tensor's name ends in _blocks");
  expect(error_of("int-channel", with(".weight_scale", ops::ones({48, 7}))), "found 7");
  expect(error_of("awq", same, {{"quant_method", "hqq"}}), "found \"hqq\"");
}

}  // namespace
}  // namespace attend
