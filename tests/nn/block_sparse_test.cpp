// BigBird's attention in training, compared with the original (tests/oracle/make_block_goldens.py).
#include "nn/attention/block_sparse.h"

#include "formats/json/json.h"
#include "models/weights/tensors.h"
#include "nn/attention/random_blocks.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace attend {
namespace {

const std::filesystem::path kData = test_data() / "random_blocks";

TEST(BlockSparse, DrawsTheOriginalsBlocks) {
  const Json cases = Json::parse(std::ifstream(kData / "draws.json"));
  ASSERT_EQ(cases.size(), 5);
  for (const Json& c : cases) {
    const BlockSparse spec{.size = c["size"], .random = c["random"]};
    EXPECT_EQ(Json(draw_random_blocks(c["layer"], c["heads"], c["blocks"], spec)), c["draws"]) << c["layer"];
  }
}

TEST(BlockSparse, AttendsToThemAsTheOriginal) {
  const auto golden = read_tensors(kData / "attention.safetensors");
  const Tensor packed = golden.at("packed"), wanted = golden.at("context");
  const AttentionCall call{.spec = {.heads = 3, .head_size = 4, .scale = 0.5}};
  const BlockSparse spec{.size = 2, .random = 2};
  const Offsets alone(std::vector<std::int64_t>{22});
  EXPECT_LT((block_sparse_attention(packed, alone, spec, call, 3) - wanted).abs().max().item<float>(), 1e-5);
  EXPECT_GT((block_sparse_attention(packed, alone, spec, call) - wanted).abs().max().item<float>(), 1e-2);

  // Together with a text that is too short to be sparse; with captured weights, which must be consistent.
  std::vector<Tensor> weights;
  AttentionCall capturing = call;
  capturing.weights = &weights;
  const Tensor together = ops::cat({packed.narrow(0, 3, 5), packed});
  const Tensor got =
      block_sparse_attention(together, Offsets(std::vector<std::int64_t>{5, 22}), spec, capturing, 3);
  EXPECT_LT((got.narrow(0, 5, 22) - wanted).abs().max().item<float>(), 1e-5);
  ASSERT_EQ(weights.size(), 2);
  EXPECT_EQ(weights[0].sizes().vec(), (std::vector<std::int64_t>{3, 5, 5}));
  const Tensor value = packed.narrow(1, 24, 12).view({22, 3, 4}).transpose(0, 1);
  const Tensor mixed = ops::matmul(weights[1], value).transpose(0, 1).reshape({22, 12});
  EXPECT_LT((mixed - wanted).abs().max().item<float>(), 1e-5);
}

}  // namespace
}  // namespace attend
