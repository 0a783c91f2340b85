// ViT: Dosovitskiy et al. 2020, arXiv:2010.11929: BERT's encoder over patches of an image. MSN: Assran et al.
// 2022, arXiv:2204.07141, trained without labels, has no pooler. Checkpoints: google/vit-*,
// facebook/vit-msn-*.
#include "base/error.h"
#include "models/families/family.h"

namespace attend {
namespace {

// image_size and patch_size: one number, or height and width.
std::pair<std::int64_t, std::int64_t> read_size(const Fields& config, std::string_view name,
                                                std::int64_t otherwise) {
  std::vector<std::int64_t> sizes = config.integers({name});
  if (sizes.empty()) sizes = {otherwise};
  if (sizes.size() > 2 || sizes.front() < 1 || sizes.back() < 1 || sizes.front() > 65536 ||
      sizes.back() > 65536)
    fail("{}: {}: expected a number from 1 to 65536 or two of them, found {}", config.source(), name,
         shown(config.json().at(name)));
  return {sizes.front(), sizes.back()};
}

PatchSpec read_patches(const Fields& config, double dropout, bool mask_token) {
  const auto [height, width] = read_size(config, "image_size", 224);
  const auto [patch_height, patch_width] = read_size(config, "patch_size", 16);
  if (patch_height > height || patch_width > width)
    fail("{}: patch_size: expected at most image_size", config.source());
  return {.channels = config.integer({"num_channels"}, 3, 1, 4096),
          .height = height,
          .width = width,
          .patch_height = patch_height,
          .patch_width = patch_width,
          .mask_token = mask_token,
          .dropout = dropout};
}

ModelSpec read_vit(const Fields& config, std::string_view architecture, double norm_epsilon) {
  const std::int64_t width = config.integer({"hidden_size"}, 768);
  AttentionSpec attention = read_attention(config, {"num_attention_heads"}, 12, width);
  attention.input_bias = config.flag({"qkv_bias"}, true);
  attention.dropout = read_dropout(config, {"attention_probs_dropout_prob"}, 0);
  const NormSpec norm{config.number({"layer_norm_eps"}, norm_epsilon, 0, 1)};
  const double dropout = read_dropout(config, {"hidden_dropout_prob"}, 0);
  const bool reconstructs = architecture == "ViTForMaskedImageModeling";
  const LayerSpec layer = {
      .order = NormOrder::pre,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = {},
      .feed_forward = {.width = config.integer({"intermediate_size"}, 3072),
                       .activation = read_activation(config, {"hidden_act"}, "gelu")},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  ModelSpec model;
  StackSpec& encoder = model.encoder.emplace();
  encoder.embeddings.width = width;
  encoder.patches = read_patches(config, dropout, reconstructs);
  encoder.layers.assign(config.integer({"num_hidden_layers"}, 12, 1, 10000), layer);
  encoder.final_norm = norm;
  encoder.quirks.norm_in_states = false;
  if (reconstructs)
    model.pixel_head = PixelHeadSpec{.channels = model.encoder->patches->channels,
                                     .stride = config.integer({"encoder_stride"}, 16, 1, 4096)};
  if (architecture.ends_with("ForImageClassification"))
    model.score_head = read_score_head(config, "ForSequenceClassification",
                                       {.input = HeadInput::first_token, .dense = {}, .problem = {}});
  model.pooler = architecture == "ViTModel";
  model.pooler_activation = read_activation(config, {"pooler_act"}, "tanh");
  model.pooled_width = config.maybe_integer({"pooler_output_size"}).value_or(0);
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  return model;
}

ModelSpec vit_spec(const Fields& config, std::string_view architecture) {
  return read_vit(config, architecture, 1e-12);
}

ModelSpec vit_msn_spec(const Fields& config, std::string_view architecture) {
  return read_vit(config, architecture, 1e-6);
}

std::vector<WeightName> vit_weights(const ModelSpec&) {
  const std::string theirs = "vit.encoder.layer.{i}.", ours = "encoder.layers.{i}.";
  return {
      // checkpoint, ours
      {"vit.embeddings.cls_token", "encoder.patches.first"},
      {"vit.embeddings.mask_token", "encoder.patches.mask"},
      {"vit.embeddings.position_embeddings", "encoder.patches.positions"},
      {"vit.embeddings.patch_embeddings.projection.{weight|bias}", "encoder.patches.{weight|bias}"},
      {theirs + "layernorm_before.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {theirs + "attention.attention.{query|key|value}.{weight|bias}",
       ours + "self_attention.query_key_value.{weight|bias}"},
      {theirs + "attention.output.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "layernorm_after.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {theirs + "intermediate.dense.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "output.dense.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"vit.layernorm.{weight|bias}", "encoder.final_norm.{weight|bias}"},
      {"vit.pooler.dense.{weight|bias}", "pooler.dense.{weight|bias}"},
      {"classifier.{weight|bias}", "score_head.out.{weight|bias}"},
      {"decoder.0.{weight|bias}", "pixel_head.{weight|bias}"},
  };
}

// base: ViT-B/16; tiny: for small grey images like Fashion-MNIST's, with the dropout of the paper's table 3.
Json fresh_vit(std::string_view preset) {
  const bool tiny = preset == "tiny";
  return {{"model_type", "vit"},
          {"architectures", {"ViTForImageClassification"}},
          {"hidden_size", tiny ? 256 : 768},
          {"num_hidden_layers", tiny ? 4 : 12},
          {"num_attention_heads", tiny ? 4 : 12},
          {"intermediate_size", tiny ? 1024 : 3072},
          {"hidden_act", "gelu"},
          {"hidden_dropout_prob", tiny ? 0.1 : 0.0},
          {"attention_probs_dropout_prob", 0.0},
          {"image_size", tiny ? 28 : 224},
          {"patch_size", tiny ? 4 : 16},
          {"num_channels", tiny ? 1 : 3},
          {"encoder_stride", tiny ? 4 : 16},
          {"initializer_range", 0.02},
          {"layer_norm_eps", 1e-12}};
}

Json fresh_vit_msn(std::string_view preset) {
  Json config = fresh_vit(preset);
  config.update({{"model_type", "vit_msn"},
                 {"architectures", {"ViTMSNForImageClassification"}},
                 {"layer_norm_eps", 1e-6}});
  config.erase("encoder_stride");
  return config;
}

}  // namespace

extern const Family vit, vit_msn;
const Family vit = {
    .model_type = "vit",
    .prefix = "vit",
    .architectures = {"ViTModel", "ViTForImageClassification", "ViTForMaskedImageModeling"},
    .spec = vit_spec,
    .weights = vit_weights,
    .ignored = {"vit.pooler.dense.{weight|bias}", "vit.embeddings.mask_token", "classifier.{weight|bias}"},
    .optional_fields = {"qkv_bias", "pooler_act", "pooler_output_size", "num_labels", "id2label", "label2id",
                        "problem_type"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_vit,
};
const Family vit_msn = {
    .model_type = "vit_msn",
    .prefix = "vit",
    .architectures = {"ViTMSNModel", "ViTMSNForImageClassification"},
    .spec = vit_msn_spec,
    .weights = vit_weights,
    .ignored = {"vit.embeddings.mask_token", "classifier.{weight|bias}"},
    .optional_fields = {"qkv_bias", "num_labels", "id2label", "label2id", "problem_type"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_vit_msn,
};

}  // namespace attend
