// BART: Lewis et al. 2019, arXiv:1910.13461. mBART: Liu et al. 2020, arXiv:2001.08210, and Tang et al. 2020,
// arXiv:2008.00401: over many languages, with norms before each sublayer. PLBART: Ahmad et al. 2021,
// arXiv:2103.06333: over programs.
// Checkpoints: facebook/bart-*, facebook/mbart-large-*, uclanlp/plbart-*.
#include "models/families/encoder_decoder.h"

namespace attend {
namespace {

constexpr SequenceToSequenceRelative bart_relative = {
    .embedding_norm = true, .vocabulary = 50265, .padding_id = 1};
constexpr SequenceToSequenceRelative mbart_relative = {
    .order = NormOrder::pre, .embedding_norm = true, .vocabulary = 50265, .padding_id = 1};
constexpr SequenceToSequenceRelative plbart_relative = {.embedding_norm = true,
                                                        .scales_embeddings = true,
                                                        .vocabulary = 50005,
                                                        .width = 768,
                                                        .heads = 12,
                                                        .inner = 3072,
                                                        .encoder_layers = 6,
                                                        .decoder_layers = 6,
                                                        .padding_id = 1,
                                                        .attention_dropout = 0.1};

ModelSpec bart_spec(const Fields& config, std::string_view architecture) {
  return bart_model(config, architecture, bart_relative, learned_positions(config, bart_relative, 2));
}

// Labels have no start token: the decoder input starts with their last token, the language.
template <const SequenceToSequenceRelative& relative>
ModelSpec many_languages_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = bart_model(config, architecture, relative, learned_positions(config, relative, 2));
  model.quirks.begins_with_last_label = true;
  return model;
}

// The special token ids of fairseq.
Json with_fairseq_ids(Json config) {
  config.update({{"bos_token_id", 0}, {"pad_token_id", 1}, {"eos_token_id", 2}, {"forced_eos_token_id", 2}});
  return config;
}

Json fresh_bart(std::string_view preset) {
  SequenceToSequenceRelative base = bart_relative;
  base.width = 768, base.inner = 3072, base.heads = 12, base.encoder_layers = base.decoder_layers = 6;
  Json config =
      with_fairseq_ids(fresh_bart_config("bart", "BartForConditionalGeneration", sized(base, preset)));
  config["decoder_start_token_id"] = 2;
  return config;
}

Json fresh_mbart(std::string_view preset) {
  Json config = with_fairseq_ids(
      fresh_bart_config("mbart", "MBartForConditionalGeneration", sized(mbart_relative, preset)));
  config.update({{"vocab_size", 250027}, {"scale_embedding", true}});
  return config;
}

Json fresh_plbart(std::string_view preset) {
  return with_fairseq_ids(
      fresh_bart_config("plbart", "PLBartForConditionalGeneration", sized(plbart_relative, preset)));
}

std::vector<std::string_view> mbart_optional_fields() {
  std::vector<std::string_view> fields = bart_optional_fields();
  fields.push_back("decoder_start_token_id");
  return fields;
}

}  // namespace

extern const Family bart, mbart, plbart;
const Family bart = {
    .model_type = "bart",
    .prefix = "model",
    .architectures = {"BartForConditionalGeneration", "BartModel", "BartForSequenceClassification",
                      "BartForQuestionAnswering", "BartForCausalLM"},
    .spec = bart_spec,
    .weights = bart_weights,
    .optional_fields = bart_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = fresh_bart,
};
const Family mbart = {
    .model_type = "mbart",
    .prefix = "model",
    .architectures = {"MBartForConditionalGeneration", "MBartModel", "MBartForSequenceClassification",
                      "MBartForQuestionAnswering", "MBartForCausalLM"},
    .spec = many_languages_spec<mbart_relative>,
    .weights = bart_weights,
    .optional_fields = mbart_optional_fields(),
    .presets = {"large", "tiny"},
    .fresh_config = fresh_mbart,
};
const Family plbart = {
    .model_type = "plbart",
    .prefix = "model",
    .architectures = {"PLBartForConditionalGeneration", "PLBartModel", "PLBartForSequenceClassification",
                      "PLBartForCausalLM"},
    .spec = many_languages_spec<plbart_relative>,
    .weights = bart_weights,
    .optional_fields = mbart_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = fresh_plbart,
};

}  // namespace attend
