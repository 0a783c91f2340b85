// BERT and RoBERTa with norms before each sublayer and a final one; each has its own weight names. Megatron's
// BERT: Shoeybi et al. 2019, arXiv:1909.08053. RoBERTa with the norms of efficient_mlm: Wettig et al. 2022,
// arXiv:2202.08005. XLM-R XL: Goyal et al. 2021, arXiv:2105.00572. Checkpoints: nvidia/megatron-bert-*,
// andreasmadsen/efficient_mlm_*, facebook/xlm-roberta-xl.
#include "base/error.h"
#include "models/families/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative megatron_relative = {.vocabulary = 29056,
                                            .width = 1024,
                                            .layers = 24,
                                            .heads = 16,
                                            .inner = 4096,
                                            .order = NormOrder::pre,
                                            .embedding_norm = false,
                                            .decodes = true,
                                            .distances = true};
constexpr BertRelative prelayernorm_relative = {.vocabulary = 50265,
                                                .padding_id = 1,
                                                .order = NormOrder::pre,
                                                .positions_after_padding = true,
                                                .decodes = true,
                                                .distances = true};
constexpr BertRelative xl_relative = {.vocabulary = 250880,
                                      .width = 2560,
                                      .layers = 36,
                                      .heads = 32,
                                      .inner = 10240,
                                      .types = 1,
                                      .padding_id = 1,
                                      .norm_epsilon = 1e-5,
                                      .order = NormOrder::pre,
                                      .embedding_norm = false,
                                      .positions_after_padding = true,
                                      .decodes = true,
                                      .distances = true};

ModelSpec megatron_spec(const Fields& config, std::string_view architecture) {
  const std::string kind = config.text({"position_embedding_type"}, "absolute");
  if (config.flag({"add_cross_attention"}, false) && kind != "absolute")
    fail("{}: position_embedding_type: expected absolute where add_cross_attention is true, found \"{}\"",
         config.source(), kind);
  return bert_model(config, architecture, megatron_relative);
}

ModelSpec prelayernorm_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = roberta_model(config, architecture, prelayernorm_relative);
  (model.encoder ? model.encoder : model.decoder)->quirks.norm_in_states = false;
  return model;
}

std::vector<WeightName> megatron_weights(const ModelSpec& model) {
  return bert_weights(model, "bert", {"attention.ln", "crossattention.ln", "ln", "bert.encoder.ln"});
}

std::vector<WeightName> prelayernorm_weights(const ModelSpec& model) {
  const std::string prefix = "roberta_prelayernorm";
  return roberta_weights(
      model, prefix,
      {"attention.LayerNorm", "crossattention.LayerNorm", "intermediate.LayerNorm", prefix + ".LayerNorm"});
}

std::vector<WeightName> xl_weights(const ModelSpec& model) {
  return roberta_weights(model, "roberta",
                         {"attention.self_attn_layer_norm", "crossattention.self_attn_layer_norm",
                          "LayerNorm", "roberta.encoder.LayerNorm"});
}

}  // namespace

extern const Family megatron_bert, roberta_prelayernorm, xlm_roberta_xl;
const Family megatron_bert = {
    .model_type = "megatron-bert",
    .prefix = "bert",
    .architectures = {"MegatronBertModel", "MegatronBertForMaskedLM", "MegatronBertForCausalLM",
                      "MegatronBertForPreTraining", "MegatronBertForNextSentencePrediction",
                      "MegatronBertForSequenceClassification", "MegatronBertForTokenClassification",
                      "MegatronBertForQuestionAnswering", "MegatronBertForMultipleChoice"},
    .spec = megatron_spec,
    .weights = megatron_weights,
    .ignored = {"bert.embeddings.position_ids", "cls.seq_relationship.{weight|bias}",
                "cls.predictions.{bias|decoder.weight|decoder.bias}",
                "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}",
                "bert.pooler.dense.{weight|bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"345m", "tiny"},
    .fresh_config = [](std::string_view preset) -> Json {
      return fresh_bert_config("megatron-bert", "MegatronBertForMaskedLM", sized(megatron_relative, preset));
    },
};
const Family roberta_prelayernorm = {
    .model_type = "roberta-prelayernorm",
    .prefix = "roberta_prelayernorm",
    .architectures = {"RobertaPreLayerNormModel", "RobertaPreLayerNormForMaskedLM",
                      "RobertaPreLayerNormForCausalLM", "RobertaPreLayerNormForSequenceClassification",
                      "RobertaPreLayerNormForTokenClassification", "RobertaPreLayerNormForQuestionAnswering",
                      "RobertaPreLayerNormForMultipleChoice"},
    .spec = prelayernorm_spec,
    .weights = prelayernorm_weights,
    .ignored = {"roberta_prelayernorm.embeddings.position_ids",
                "roberta_prelayernorm.pooler.dense.{weight|bias}",
                "lm_head.{bias|decoder.weight|decoder.bias}", "lm_head.{dense|layer_norm}.{weight|bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = [](std::string_view preset) -> Json {
      return fresh_bert_config("roberta-prelayernorm", "RobertaPreLayerNormForMaskedLM",
                               sized(prelayernorm_relative, preset));
    },
};
const Family xlm_roberta_xl = {
    .model_type = "xlm-roberta-xl",
    .prefix = "roberta",
    .architectures = {"XLMRobertaXLModel", "XLMRobertaXLForMaskedLM", "XLMRobertaXLForCausalLM",
                      "XLMRobertaXLForSequenceClassification", "XLMRobertaXLForTokenClassification",
                      "XLMRobertaXLForQuestionAnswering", "XLMRobertaXLForMultipleChoice"},
    .spec = [](const Fields& config, std::string_view architecture) -> ModelSpec {
      return roberta_model(config, architecture, xl_relative);
    },
    .weights = xl_weights,
    .ignored = {"roberta.embeddings.position_ids", "roberta.pooler.dense.{weight|bias}",
                "lm_head.{bias|decoder.weight|decoder.bias}", "lm_head.{dense|layer_norm}.{weight|bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"xl", "tiny"},
    .fresh_config = [](std::string_view preset) -> Json {
      return fresh_bert_config("xlm-roberta-xl", "XLMRobertaXLForMaskedLM", sized(xl_relative, preset));
    },
};

}  // namespace attend
