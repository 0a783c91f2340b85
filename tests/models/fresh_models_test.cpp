// Models with random weights, as made by `attend init`.
#include "base/file.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/derived/fresh.h"
#include "models/weights/tensors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace attend {
namespace {

std::map<std::string, Tensor> fresh_weights_of(const PretrainedModel& model) {
  return model.by_checkpoint_name([](const std::string&, const Tensor& w) { return w.detach(); }, true);
}

// With initial weights a language model knows nothing: its loss is ln V. In T5 and the original Transformer
// the initial scores have standard deviation 1, which adds a half.
TEST(FreshModels, StartWithTheLossOfUniformPredictions) {
  struct Case {
    const char *family, *preset;
  };
  for (const auto& [name, preset] : {Case{"bert", "tiny"},
                                     {"albert", "tiny"},
                                     {"roberta", "tiny"},
                                     {"electra", "tiny-generator"},
                                     {"deberta", "tiny"},
                                     {"deberta-v2", "tiny"},
                                     {"distilbert", "tiny"},
                                     {"gpt2", "tiny"},
                                     {"xlnet", "tiny"},
                                     {"xlm", "tiny"},
                                     {"bart", "tiny"},
                                     {"transfo-xl", "tiny"},
                                     {"big_bird", "tiny"}}) {
    SCOPED_TRACE(name);
    Json config = find_family(name).fresh_config(preset);
    config["vocab_size"] = 1000;
    if (std::string_view(name) == "roberta") config["max_position_embeddings"] = 64;
    const PretrainedModel model = PretrainedModel::fresh(Fields(config, "config.json"), 7);
    Transformer net = model.network();
    ASSERT_TRUE(net->language_model_head);
    std::vector<std::int64_t> ids, labels;
    for (std::int64_t i = 0; i < 60; ++i) {
      ids.push_back(10 + i * 37 % 900);
      labels.push_back(10 + i * 53 % 900);
    }
    const TokenBatch batch =
        TokenBatch::from({{ids.begin(), ids.begin() + 30}, {ids.begin() + 30, ids.end()}});
    Pass pass = Pass::inference();
    Unrecorded no_grad;
    Tensor hidden;
    if (net->is_encoder_decoder()) {
      const CrossAttentionKV memory = net->project_kv(net->encode(batch, pass), batch.offsets, pass);
      hidden = net->decode(batch, pass, &memory);
    } else {
      hidden = net->decoder ? net->decode(batch, pass) : net->encode(batch, pass);
    }
    const double loss =
        net->language_model_head->loss(hidden, ops::tensor(labels, kLong), {}, pass).mean().item<double>();
    EXPECT_NEAR(loss, std::log(1000.0), 0.03 * std::log(1000.0));
  }
}

TEST(FreshModels, TinyOnesTrainInMinutes) {
  for (const Family* family : families()) {
    if (std::ranges::find(family->presets, "tiny") == family->presets.end()) continue;
    SCOPED_TRACE(family->model_type);
    Json config = family->fresh_config("tiny");
    if (config.contains("vocab_size")) config["vocab_size"] = 8000;
    for (const char* id : {"pad_token_id", "bos_token_id", "eos_token_id"})
      if (config.value(id, Json()).is_number() && config[id] >= 8000) config[id] = 1;
    for (const char* part : {"encoder", "decoder"})  // of two models in one
      if (config.contains(part) && config[part].contains("vocab_size")) config[part]["vocab_size"] = 8000;
    const std::int64_t models = config.contains("encoder") && config["encoder"].is_object() ? 2 : 1;
    std::int64_t parameters = 0;
    for (const Tensor& p : PretrainedModel::fresh(Fields(config, "config.json"), 1).network()->parameters())
      parameters += p.numel();
    EXPECT_LT(parameters, models * 9'000'000);
    EXPECT_GT(parameters, 1'500'000);
  }
}

TEST(FreshModels, AreDrawnAsTheirAuthorsDid) {
  const auto draw = [](const char* family, const Json& changes) {
    Json config = find_family(family).fresh_config(find_family(family).presets.front());
    config.update(changes);
    return fresh_weights_of(PretrainedModel::fresh(Fields(config, "config.json"), 11));
  };
  const auto width = [](const Tensor& t) { return ops::standard_deviation(t); };
  const Json gpt{{"vocab_size", 90}, {"n_embd", 96}, {"n_layer", 2}, {"n_head", 3}, {"n_positions", 64}};
  const auto gpt2 = draw("gpt2", gpt);
  EXPECT_NEAR(width(gpt2.at("transformer.h.0.attn.c_attn.weight")), 0.02, 0.001);
  EXPECT_NEAR(width(gpt2.at("transformer.h.1.mlp.c_proj.weight")), 0.01, 0.0005);
  const auto xlnet =
      draw("xlnet", {{"vocab_size", 90}, {"d_model", 96}, {"n_layer", 1}, {"n_head", 3}, {"d_inner", 64}});
  for (const char* name : {"layer.0.rel_attn.r_w_bias", "layer.0.rel_attn.r_s_bias", "mask_emb"})
    EXPECT_NEAR(width(xlnet.at(std::string("transformer.") + name)), 0.02, 0.006) << name;
  const auto transfo = draw("transfo-xl", {{"vocab_size", 90},
                                           {"cutoffs", {20, 40}},
                                           {"d_model", 96},
                                           {"d_embed", 96},
                                           {"n_head", 3},
                                           {"d_head", 32},
                                           {"d_inner", 64},
                                           {"n_layer", 1},
                                           {"mem_len", 8}});
  EXPECT_NEAR(width(transfo.at("transformer.word_emb.emb_projs.0")), 0.01, 0.001);
  EXPECT_NEAR(width(transfo.at("transformer.layers.0.pos_ff.layer_norm.weight")), 0.02, 0.006);
  const auto t5 = draw("t5", {{"vocab_size", 90},
                              {"d_model", 96},
                              {"d_kv", 32},
                              {"d_ff", 64},
                              {"num_layers", 1},
                              {"num_decoder_layers", 1},
                              {"num_heads", 3}});
  EXPECT_NEAR(width(t5.at("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")),
              1 / std::sqrt(96.0), 0.03);
  EXPECT_NEAR(width(t5.at("encoder.block.0.layer.0.SelfAttention.q.weight")), 1 / std::sqrt(96.0 * 32),
              0.001);
}

TEST(FreshModels, NameOnlyTokensOfTheirVocabulary) {
  for (const Family* family : families()) {
    SCOPED_TRACE(family->model_type);
    if (std::ranges::find(family->presets, "tiny") == family->presets.end()) continue;
    if (!family->fresh_config("tiny").contains("vocab_size")) continue;
    const TemporaryDirectory made;
    FreshModel fresh;
    fresh.family = family->model_type;
    fresh.directory = made.path() / "model";
    fresh.settings = {"preset=tiny", "vocab_size=65"};
    make_fresh_model(fresh);
    const Json saved = read_json(fresh.directory / "config.json");
    for (const auto& [field, value] : saved.items())
      EXPECT_TRUE(!field.ends_with("_token_id") || value.is_null() || value < 65) << field << ": " << value;
    PretrainedModel::load(ModelDirectory(fresh.directory), Purpose::inference);
  }
}

}  // namespace
}  // namespace attend
