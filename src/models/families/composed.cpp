// An encoder of one family with a decoder of another, like transformers' EncoderDecoderModel and
// VisionEncoderDecoderModel: Rothe et al. 2019, arXiv:1907.12461; Li et al. 2021, arXiv:2109.10282.
// config.json contains the configs of both.
#include "base/error.h"
#include "models/families/head.h"

#include <algorithm>

#include <fmt/format.h>

namespace attend {
namespace {

Fields part_of(const Fields& config, const char* name) {
  const auto part = config.json().find(name);
  if (part == config.json().end() || !part->is_object())
    fail("{}: {}: expected the config of a model", config.source(), name);
  return Fields(*part, fmt::format("{}: {}", config.source(), name));
}

ModelSpec read_encoder(const Fields& config, const Family& family, bool images) {
  const ModelSpec body = family.spec(config, architecture_for(family, Head::body));
  if (!body.encoder || body.decoder || body.encoder->patches.has_value() != images)
    fail("{}: model_type: expected an encoder of {}, found {}", config.source(), images ? "images" : "text",
         family.model_type);
  return body;
}

ModelSpec read_decoder(const Fields& config, const Family& family) {
  const ModelSpec model = family.spec(config, architecture_for(family, Head::causal_language_model));
  if (!model.decoder || !model.decoder->layers.front().cross_attention)
    fail(
        "{}: expected a decoder that reads an encoder (is_decoder and add_cross_attention), found {} without",
        config.source(), family.model_type);
  return model;
}

ModelSpec composed_spec(const Fields& config, std::string_view architecture) {
  const Fields first = part_of(config, "encoder"), second = part_of(config, "decoder");
  const Family &reads = find_family(first), &writes = find_family(second);
  ModelSpec model = read_decoder(second, writes);
  model.encoder = read_encoder(first, reads, architecture == "VisionEncoderDecoderModel").encoder;
  // tie_encoder_decoder: encoder and decoder share all matrices that both have (Rothe et al., section 2.3:
  // "shared").
  model.share_embeddings = config.flag({"tie_encoder_decoder"}, false);
  model.encoder_family = reads.model_type;
  model.decoder_family = writes.model_type;
  model.bridge = model.encoder->width() != model.decoder->width();
  if (model.share_embeddings && (model.bridge || model.encoder->patches ||
                                 model.encoder->layers.size() != model.decoder->layers.size()))
    fail("{}: tie_encoder_decoder: expected an encoder and a decoder of one size", config.source());
  return model;
}

// Adds the rows of a family for one stack, with names that begin with `part`.
void add_rows(std::vector<WeightName>& table, const std::string& part, std::string_view strip,
              std::vector<WeightName> rows) {
  constexpr std::string_view either = "{encoder|decoder}";
  const auto renamed = [&](std::string name) {
    if (name.starts_with(strip)) name.erase(0, strip.size());
    if (const std::size_t group = name.find(either); group != name.npos)
      name.replace(group, either.size(), part);
    return part + "." + name;
  };
  for (WeightName& row : rows) {
    if (row.ours.starts_with(either)) row.ours = part + row.ours.substr(either.size());
    if (part == "encoder" && row.ours.starts_with("decoder.")) continue;
    row.checkpoint = renamed(row.checkpoint);
    for (std::string& alias : row.aliases) alias = renamed(alias);
    table.push_back(std::move(row));
  }
}

// Makes the encoder's shared weights read from the decoder, where transformers stores them. The encoder's
// names stay known.
void tie_rows(std::vector<WeightName>& table, std::string_view writer_prefix) {
  const std::string there = fmt::format("decoder.{}.", writer_prefix);
  const std::vector<WeightName> all = table;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].ours.starts_with("encoder.")) continue;
    const std::string shared = there + all[i].checkpoint.substr(all[i].checkpoint.find('.') + 1);
    if (std::ranges::none_of(all, [&](const WeightName& row) { return row.checkpoint == shared; })) continue;
    table.push_back({all[i].checkpoint, "(read from the decoder)"});
    table[i].checkpoint = shared;
  }
}

std::vector<WeightName> composed_weights(const ModelSpec& model) {
  const Family &reads = find_family(model.encoder_family), &writes = find_family(model.decoder_family);
  ModelSpec encoder, decoder = model;
  encoder.encoder = model.encoder;
  decoder.encoder = {};
  std::vector<WeightName> table;
  // A body without a head is stored without its prefix.
  add_rows(table, "decoder", "", writes.weights(decoder));
  add_rows(table, "encoder", fmt::format("{}.", reads.prefix), reads.weights(encoder));
  if (model.share_embeddings) tie_rows(table, writes.prefix);
  table.push_back({"enc_to_dec_proj.{weight|bias}", "bridge.{weight|bias}"});
  return table;
}

Json composed_config(std::string_view model_type, std::string_view architecture, std::string_view encoder,
                     std::string_view preset) {
  const Family& bert = find_family("bert");
  Json decoder = bert.fresh_config(preset);
  decoder.update({{"is_decoder", true}, {"add_cross_attention", true}});
  return {{"model_type", model_type},
          {"architectures", {architecture}},
          {"is_encoder_decoder", true},
          {"encoder", find_family(encoder).fresh_config(preset)},
          {"decoder", decoder},
          {"pad_token_id", 0},
          {"decoder_start_token_id", 101},
          {"eos_token_id", 102}};
}

Json fresh_composed(std::string_view preset) {
  return composed_config("encoder-decoder", "EncoderDecoderModel", "bert", preset);
}

Json fresh_vision_config(std::string_view preset) {
  return composed_config("vision-encoder-decoder", "VisionEncoderDecoderModel", "vit", preset);
}

}  // namespace

extern const Family encoder_decoder, vision_encoder_decoder;
const Family encoder_decoder = {
    .model_type = "encoder-decoder",
    .prefix = "model",
    .architectures = {"EncoderDecoderModel"},
    .spec = composed_spec,
    .weights = composed_weights,
    .ignored = {"encoder.pooler.dense.{weight|bias}", "encoder.embeddings.position_ids",
                "decoder.model.decoder.embed_positions.weight"},
    .optional_fields = {"tie_encoder_decoder"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_composed,
};
const Family vision_encoder_decoder = {
    .model_type = "vision-encoder-decoder",
    .prefix = "model",
    .architectures = {"VisionEncoderDecoderModel"},
    .spec = composed_spec,
    .weights = composed_weights,
    .ignored = {"encoder.pooler.dense.{weight|bias}", "encoder.embeddings.mask_token",
                "decoder.model.decoder.embed_positions.weight"},
    .optional_fields = {"tie_encoder_decoder"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_vision_config,
};

}  // namespace attend
