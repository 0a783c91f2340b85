// BioGPT: Luo et al. 2022, arXiv:2210.10341: a language model for biomedical text. Checkpoints:
// microsoft/biogpt*.
#include "models/families/fairseq_decoder.h"
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

constexpr FairseqRelative biogpt_relative = {.vocabulary = 42384,
                                             .width = 1024,
                                             .layers = 24,
                                             .heads = 16,
                                             .inner = 4096,
                                             .positions = 1024,
                                             .attention_dropout = 0.1};

ModelSpec biogpt_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  StackSpec& stack = model.decoder.emplace(read_fairseq_decoder(config, biogpt_relative));
  stack.embeddings.positions = positions_by_token(config, biogpt_relative);
  stack.quirks.norm_in_states = false;
  put_gpt_heads(model, config, architecture);
  if (ScoreHeadSpec* const head = model.score_head ? &*model.score_head : nullptr) {
    if (head->input == HeadInput::last_token) head->input = HeadInput::counted_column;
    head->quirks.ignores_padding = true;
    if (head->kind == ScoreKind::token_classification)
      head->dropout = read_dropout(config, {"classifier_dropout", "hidden_dropout_prob"}, 0.1);
  }
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  return model;
}

std::vector<WeightName> biogpt_weights(const ModelSpec& model) {
  std::vector<WeightName> table = {{"output_projection.weight", "language_model_head.weight"}};
  for (WeightName& row : fairseq_decoder_weights(model, "biogpt", "layer_norm"))
    table.push_back(std::move(row));
  return table;
}

Json fresh_biogpt(std::string_view preset) {
  const bool tiny = preset == "tiny";
  return {{"model_type", "biogpt"},
          {"architectures", {"BioGptForCausalLM"}},
          {"vocab_size", 42384},
          {"hidden_size", tiny ? 256 : 1024},
          {"num_hidden_layers", tiny ? 4 : 24},
          {"num_attention_heads", tiny ? 4 : 16},
          {"intermediate_size", tiny ? 1024 : 4096},
          {"max_position_embeddings", 1024},
          {"hidden_act", "gelu"},
          {"hidden_dropout_prob", 0.1},
          {"attention_probs_dropout_prob", 0.1},
          {"scale_embedding", true},
          {"initializer_range", 0.02},
          {"bos_token_id", 0},
          {"pad_token_id", 1},
          {"eos_token_id", 2}};
}

}  // namespace

extern const Family biogpt;
const Family biogpt = {
    .model_type = "biogpt",
    .prefix = "biogpt",
    .architectures = {"BioGptForCausalLM", "BioGptModel", "BioGptForSequenceClassification",
                      "BioGptForTokenClassification"},
    .spec = biogpt_spec,
    .weights = biogpt_weights,
    .optional_fields = {"activation_dropout", "tie_word_embeddings", "classifier_dropout", "num_labels",
                        "id2label", "label2id", "problem_type"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_biogpt,
};

}  // namespace attend
