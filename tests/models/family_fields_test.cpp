// The fields of config.json that families read, and the values that they reject.
#include "expect_error.h"
#include "models/families/family.h"

#include <cmath>

#include <gtest/gtest.h>

namespace attend {
namespace {

ModelSpec spec_of(std::string_view model_type, std::string_view architecture, const Json& more) {
  const Family& family = find_family(model_type);
  Json config = family.fresh_config("tiny");
  config.update(more);
  return family.spec(Fields(config, "config.json"), architecture);
}

TEST(FamilyFields, ValuesThatNoOriginalHasAreErrors) {
  EXPECT_ERROR("config.json: layer_norm_elementwise_affine: only true is supported",
               spec_of("opt", "OPTModel", {{"layer_norm_elementwise_affine", false}}));
  EXPECT_ERROR("config.json: rotary_value: only false is supported",
               spec_of("roformer", "RoFormerModel", {{"rotary_value", true}}));
  EXPECT_ERROR("config.json: n_head: expected a multiple of 4, found 2",
               spec_of("codegen", "CodeGenModel", {{"n_head", 2}}));
  EXPECT_ERROR("config.json: rotary_dim: expected an even number, found 3",
               spec_of("codegen", "CodeGenModel", {{"rotary_dim", 3}}));
  EXPECT_ERROR(
      "config.json: parallel_attn: only true is supported with new_decoder_architecture",
      spec_of("falcon", "FalconModel", {{"new_decoder_architecture", true}, {"parallel_attn", false}}));
  EXPECT_ERROR(
      "config.json: num_ln_in_parallel_attn: expected 1 or 2, found 3",
      spec_of("falcon", "FalconModel", {{"new_decoder_architecture", true}, {"num_ln_in_parallel_attn", 3}}));
  EXPECT_ERROR("config.json: num_kv_heads: expected as many as the 4 attention heads",
               spec_of("falcon", "FalconModel", {{"multi_query", false}, {"num_kv_heads", 2}}));
  EXPECT_ERROR("config.json: sparse_prediction: only false is supported",
               spec_of("modernbert", "ModernBertForMaskedLM", {{"sparse_prediction", true}}));
  EXPECT_ERROR("config.json: classifier_pooling: expected cls or mean, found \"max\"",
               spec_of("modernbert", "ModernBertForSequenceClassification", {{"classifier_pooling", "max"}}));
  EXPECT_ERROR("config.json: d_model: expected at least 4, found 2",
               spec_of("xglm", "XGLMModel", {{"d_model", 2}, {"attention_heads", 1}}));
}

TEST(FamilyFields, EncodersWithTheirOwnCodeRefuseWhatTheirModelsDoNotUse) {
  const auto nomic = [](const Json& more) { return spec_of("nomic_bert", "NomicBertModel", more); };
  EXPECT_ERROR("config.json: prenorm: only false is supported", nomic({{"prenorm", true}}));
  EXPECT_ERROR("config.json: rotary_emb_scale_base: only null is supported",
               nomic({{"rotary_emb_scale_base", 512}}));
  EXPECT_ERROR("config.json: moe_every_n_layers: only 0 is supported", nomic({{"moe_every_n_layers", 2}}));
  EXPECT_ERROR("config.json: mlp_fc2_bias: expected true, as mlp_fc1_bias", nomic({{"mlp_fc1_bias", true}}));
  EXPECT_ERROR("expected an even number of rotated elements among a head's 64, found 0",
               nomic({{"rotary_emb_fraction", 0}}));
  EXPECT_ERROR("config.json: activation_function: expected swiglu", nomic({{"activation_function", "relu"}}));
  const auto gte = [](const Json& more) { return spec_of("new", "NewModel", more); };
  EXPECT_ERROR("config.json: position_embedding_type: only rope is supported",
               gte({{"position_embedding_type", "absolute"}}));
  EXPECT_ERROR("config.json: layer_norm_type: only layer_norm is supported",
               gte({{"layer_norm_type", "rms_norm"}}));
  EXPECT_ERROR("config.json: rope_scaling: type: only ntk is supported, found \"yarn\"",
               gte({{"rope_scaling", {{"type", "yarn"}, {"factor", 2}}}}));
  EXPECT_ERROR("config.json: logn_attention_scale: only false is supported",
               gte({{"logn_attention_scale", true}}));
  EXPECT_ERROR("config.json: feed_forward_type: expected original, geglu or reglu, found \"glu\"",
               spec_of("jina_bert", "JinaBertModel", {{"feed_forward_type", "glu"}}));
}

TEST(FamilyFields, JinaBertsFilesSayBertAndHaveLinearDistances) {
  const auto family_of = [](const Json& config) {
    return find_family(Fields(config, "config.json")).model_type;
  };
  EXPECT_EQ(family_of({{"model_type", "bert"}, {"position_embedding_type", "alibi"}}), "jina_bert");
  EXPECT_EQ(family_of({{"model_type", "bert"}, {"position_embedding_type", "absolute"}}), "bert");
  EXPECT_EQ(family_of({{"model_type", "bert"}}), "bert");
  const ModelSpec model = spec_of("jina_bert", "JinaBertModel", Json::object());
  EXPECT_TRUE(std::holds_alternative<LinearDistances>(model.encoder->distances));
}

// Its inner width is a multiple of 256, and its table of the vocabulary one of pad_vocab_size_multiple.
TEST(FamilyFields, NomicBertRoundsItsSizes) {
  const ModelSpec model = spec_of("nomic_bert", "NomicBertModel", {{"n_inner", 300}, {"vocab_size", 65}});
  EXPECT_EQ(model.encoder->layers.front().feed_forward.width, 512);
  EXPECT_EQ(model.encoder->embeddings.vocabulary, 128);
}

// The original always uses 1 as padding and 32 buckets, and ignores config.json and the table.
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

// OPT with 350M parameters has embeddings narrower than its layers, and no final norm.
TEST(FamilyFields, OptMayHaveNarrowEmbeddings) {
  const ModelSpec model =
      spec_of("opt", "OPTModel", {{"word_embed_proj_dim", 128}, {"do_layer_norm_before", false}});
  EXPECT_EQ(model.decoder->width(), 256);
  EXPECT_EQ(model.decoder->result_width(), 128);
  EXPECT_FALSE(model.decoder->final_norm);
  EXPECT_EQ(model.decoder->layers.front().order, NormOrder::post);
}

// Every third layer has full attention and a large rotary base, the others a window and a small base.
TEST(FamilyFields, ModernBertHasTwoKindsOfLayers) {
  const ModelSpec model = spec_of("modernbert", "ModernBertModel", {{"num_hidden_layers", 4}});
  const std::vector<LayerSpec>& layers = model.encoder->layers;
  const std::vector<std::int64_t> windows{0, 65, 65, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(layers[i].self_attention.window, windows[i]) << i;
    EXPECT_EQ(layers[i].self_attention.rotary, windows[i] > 0 ? 1 : 0) << i;
    EXPECT_EQ(layers[i].normed_input, i > 0) << i;
  }
  EXPECT_LT(model.encoder->rotaries[0].frequencies[1], model.encoder->rotaries[1].frequencies[1]);
  // transformers 5 stores the bases by kind.
  const ModelSpec newer =
      spec_of("modernbert", "ModernBertModel",
              {{"global_rope_theta", nullptr},
               {"rope_parameters",
                {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 160000.0}}},
                 {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}}}});
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(newer.encoder->rotaries[i].frequencies, model.encoder->rotaries[i].frequencies);
  // It also lists the kind of each layer.
  const Json kinds = {"full_attention", "sliding_attention", "full_attention", "sliding_attention"};
  const ModelSpec listed =
      spec_of("modernbert", "ModernBertModel", {{"num_hidden_layers", 4}, {"layer_types", kinds}});
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(listed.encoder->layers[i].self_attention.window, i % 2 == 0 ? 0 : 65) << i;
}

// transformers' SmolLM3 reads the flag only if the kinds of layers are not listed.
TEST(FamilyFields, ListedLayersOfSmolLM3HaveTheWindowWhateverTheFlagSays) {
  const auto windows_of = [](const Json& more) {
    Json config = {{"num_hidden_layers", 2}, {"no_rope_layers", {1, 0}}, {"sliding_window", 3}};
    config.update(more);
    const ModelSpec model = spec_of("smollm3", "SmolLM3Model", config);
    std::vector<std::int64_t> windows;
    for (const LayerSpec& layer : model.decoder->layers) windows.push_back(layer.self_attention.window);
    return windows;
  };
  const Json kinds = {"sliding_attention", "full_attention"};
  EXPECT_EQ(windows_of(Json::object()), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(windows_of({{"use_sliding_window", true}}), (std::vector<std::int64_t>{0, 3}));
  for (const bool flag : {false, true})
    EXPECT_EQ(windows_of({{"use_sliding_window", flag}, {"layer_types", kinds}}),
              (std::vector<std::int64_t>{3, 0}));
}

// Only layers with full attention are scaled; transformers 5 stores the base with the scaling.
TEST(FamilyFields, Olmo3ScalesLayersWithoutWindow) {
  const auto rotaries_of = [](const Json& more) {
    return spec_of("olmo3", "Olmo3Model", more).decoder->rotaries;
  };
  const auto rotaries =
      rotaries_of({{"rope_theta", 500000.0}, {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}});
  EXPECT_FLOAT_EQ(rotaries[0].frequencies[0], 0.125F);
  EXPECT_EQ(rotaries[1].frequencies[0], 1);
  const Json scaled = {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 500000.0}},
             plain = {{"rope_type", "default"}, {"rope_theta", 500000.0}};
  for (const Json& newer : {scaled, Json{{"full_attention", scaled}, {"sliding_attention", plain}}}) {
    const auto same = rotaries_of({{"rope_theta", nullptr}, {"rope_parameters", newer}});
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(same[i].frequencies, rotaries[i].frequencies) << newer;
  }
}

// transformers 4 stores the length before extension beside rope_scaling, 5 in rope_parameters.
TEST(FamilyFields, LongRopeKnowsItsOriginalLength) {
  const Json factors = {{"short_factor", Json(32, 1.0)}, {"long_factor", Json(32, 4.0)}};
  const auto rotary_of = [&](const Json& more, const char* object, Json kind) {
    kind.update(factors);
    Json config = {{"max_position_embeddings", 4096}, {object, kind}};
    config.update(more);
    return spec_of("llama", "LlamaModel", config).decoder->rotaries.front();
  };
  const RotarySpec older = rotary_of({{"original_max_position_embeddings", 1024}}, "rope_scaling",
                                     {{"rope_type", "longrope"}, {"factor", 32.0}});
  EXPECT_EQ(older.short_length, 1024);
  EXPECT_DOUBLE_EQ(older.factor, std::sqrt(1.2));  // 1 + log 4 / log 1024
  const RotarySpec newer = rotary_of(Json::object(), "rope_parameters",
                                     {{"rope_type", "longrope"}, {"original_max_position_embeddings", 1024}});
  EXPECT_EQ(newer.short_length, 1024);
  EXPECT_DOUBLE_EQ(newer.factor, older.factor);
}

}  // namespace
}  // namespace attend
