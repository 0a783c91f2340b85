// What families read of config.json, and what they refuse.
#include "expect_error.h"
#include "models/family.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

ModelSpec spec_of(std::string_view model_type, std::string_view architecture, const Json& more) {
  const Family& family = find_family(model_type);
  Json config = family.fresh_config("tiny");
  config.update(more);
  return family.spec(Fields(config, "config.json"), architecture);
}

TEST(FamilyFields, WhatNoOriginalHasIsAnError) {
  EXPECT_ERROR("config.json: layer_norm_elementwise_affine: only true is supported",
               spec_of("opt", "OPTModel", {{"layer_norm_elementwise_affine", false}}));
  EXPECT_ERROR("config.json: rotary_value: only false is supported",
               spec_of("roformer", "RoFormerModel", {{"rotary_value", true}}));
  EXPECT_ERROR("config.json: n_head: expected a multiple of 4, found 2",
               spec_of("codegen", "CodeGenModel", {{"n_head", 2}}));
  EXPECT_ERROR("config.json: rotary_dim: expected an even number, found 3",
               spec_of("codegen", "CodeGenModel", {{"rotary_dim", 3}}));
  EXPECT_ERROR("config.json: d_model: expected at least 4, found 2",
               spec_of("xglm", "XGLMModel", {{"d_model", 2}, {"attention_heads", 1}}));
}

// The original has 1 for padding whatever config.json says, and 32 buckets whatever its table has.
TEST(FamilyFields, MpnetHasItsOwnPaddingAndBuckets) {
  const ModelSpec model =
      spec_of("mpnet", "MPNetModel", {{"pad_token_id", 0}, {"relative_attention_num_buckets", 40}});
  const auto& positions = std::get<LearnedPositions>(model.encoder->embeddings.positions);
  EXPECT_EQ(positions.skipped_id, 1);
  EXPECT_EQ(positions.offset, 2);
  EXPECT_EQ(model.encoder->embeddings.padding_id, 1);
  const auto& bias = std::get<BucketedBias>(model.encoder->distances);
  EXPECT_EQ(bias.buckets, 32);
  EXPECT_EQ(bias.rows, 40);
}

// OPT's of 350M parameters has embeddings narrower than its layers, and no last norm.
TEST(FamilyFields, OptMayHaveNarrowEmbeddings) {
  const ModelSpec model =
      spec_of("opt", "OPTModel", {{"word_embed_proj_dim", 128}, {"do_layer_norm_before", false}});
  EXPECT_EQ(model.decoder->width(), 256);
  EXPECT_EQ(model.decoder->result_width(), 128);
  EXPECT_FALSE(model.decoder->final_norm);
  EXPECT_EQ(model.decoder->layers.front().order, NormOrder::post);
}

}  // namespace
}  // namespace attend
