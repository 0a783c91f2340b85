// A pretrained directory under another head, fresh weights, dropout: what training begins with.
#include "base/file.h"
#include "models/companions.h"
#include "models/forward.h"
#include "models/fresh.h"
#include "models/head.h"
#include "models/pretrained_model.h"
#include "models/tensors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

fs::path golden(const std::string& name) {
  return test_data() / "models" / name;
}

std::map<std::string, Tensor> weights_of(const PretrainedModel& model) {
  return model.by_checkpoint_name([](const std::string&, const Tensor& w) { return w.detach(); }, true);
}

PretrainedModel with_head(const fs::path& directory, Head head, std::optional<Labels> labels = {},
                          std::uint64_t seed = 1) {
  const ModelDirectory from(directory);
  const std::vector<std::string> own = from.architectures();
  return PretrainedModel::load(
      from, {.purpose = Purpose::training,
             .architecture = architecture_for(find_family(from.config()), head,
                                              own.empty() ? std::string_view() : own.front()),
             .fresh = FreshHead{seed, std::move(labels)}});
}

TEST(Heads, EveryFamilyHasItsOwnNamesForThem) {
  const auto of = [](const char* family, Head head) { return architecture_for(find_family(family), head); };
  EXPECT_EQ(of("gpt2", Head::causal_language_model), "GPT2LMHeadModel");
  EXPECT_EQ(of("transfo-xl", Head::causal_language_model), "TransfoXLLMHeadModel");
  EXPECT_EQ(of("bert", Head::causal_language_model), "BertLMHeadModel");
  EXPECT_EQ(of("xlm", Head::masked_language_model), "XLMWithLMHeadModel");
  EXPECT_EQ(of("xlnet", Head::permutation_language_model), "XLNetLMHeadModel");
  EXPECT_EQ(of("albert", Head::pretraining), "AlbertForPreTraining");
  EXPECT_EQ(of("electra", Head::replaced_tokens), "ElectraForPreTraining");
  EXPECT_EQ(of("t5", Head::conditional_generation), "T5ForConditionalGeneration");
  EXPECT_EQ(of("marian", Head::conditional_generation), "MarianMTModel");
  EXPECT_EQ(of("xlnet", Head::question_answering), "XLNetForQuestionAnsweringSimple");
  EXPECT_EQ(of("bert", Head::question_answering), "BertForQuestionAnswering");
  EXPECT_EQ(of("vit", Head::masked_images), "ViTForMaskedImageModeling");
  EXPECT_EQ(of("marian", Head::body), "MarianModel");
  for (const Family* family : families()) {
    if (family->model_type.ends_with("encoder-decoder"))
      continue;  // two bodies, which are no use without the head
    const std::string body = architecture_for(*family, Head::body);
    EXPECT_TRUE(body.ends_with("Model")) << body;
  }
}

TEST(Heads, TheDirectorysOwnArchitectureIsKeptWhereItWillDo) {
  const Family& t5 = find_family("t5");
  EXPECT_EQ(architecture_for(t5, Head::body, "T5EncoderModel"), "T5EncoderModel");
  EXPECT_EQ(architecture_for(t5, Head::body, "T5ForConditionalGeneration"), "T5Model");
}

TEST(Heads, AFamilyWithoutOneNamesThoseThatHaveIt) {
  const std::string error =
      error_of([] { architecture_for(find_family("gpt2"), Head::masked_language_model); });
  EXPECT_TRUE(contains(error, "gpt2 has no architecture that is a masked language model"));
  EXPECT_TRUE(contains(error, "bert"));
  EXPECT_TRUE(contains(error, "xlm"));
  EXPECT_FALSE(contains(error, "vit"));
}

// Every golden model under every head that its family has: the body stays, what is new is of the head, and
// what is saved loads whole.
TEST(FreshHeads, StandOnEveryPretrainedBody) {
  std::size_t made = 0;
  for (const std::string& name : golden_networks()) {
    const fs::path path = golden(name);
    const ModelDirectory directory(path);
    const Family& family = find_family(directory.config());
    const auto before = weights_of(PretrainedModel::load(directory, Purpose::training));
    for (int i = 0; i <= static_cast<int>(Head::masked_images); ++i) {
      std::string architecture;
      try {
        architecture = architecture_for(family, static_cast<Head>(i), directory.architectures().front());
      } catch (const Error&) {
        continue;  // the family has no such head
      }
      SCOPED_TRACE(path.filename().string() + " as " + architecture);
      const bool decodes = architecture.ends_with("LMHeadModel") || architecture.ends_with("ForCausalLM");
      if (decodes && !PretrainedModel::load(directory, Purpose::inference).network()->decoder &&
          family.model_type != "xlm" && family.model_type != "xlnet")
        continue;  // config.json says that it is an encoder
      if (directory.config().flag({"is_decoder"}, false) && !decodes) continue;
      std::optional<PretrainedModel> model;
      try {
        model = PretrainedModel::load(
            directory,
            {.purpose = Purpose::training, .architecture = architecture, .fresh = FreshHead{.seed = 3}});
      } catch (const Error& error) {
        // Two heads have a body that is wider than they are.
        EXPECT_TRUE(contains(error.what(), "summary_type") || contains(error.what(), "d_embed"))
            << error.what();
        continue;
      }
      ++made;
      const auto weights = weights_of(*model);
      for (const auto& [name, tensor] : weights) {
        EXPECT_TRUE(tensor.isfinite().all().item<bool>()) << name;
        const auto old = before.find(name);
        if (old == before.end() || old->second.sizes() != tensor.sizes()) continue;
        EXPECT_TRUE(ops::equal(tensor, old->second)) << name;
      }
      const TemporaryDirectory copy;
      model->save(copy.path());
      const auto again = weights_of(PretrainedModel::load(ModelDirectory(copy.path()), Purpose::training));
      ASSERT_EQ(again.size(), weights.size());
      for (const auto& [name, tensor] : weights) EXPECT_TRUE(ops::equal(tensor, again.at(name))) << name;
    }
  }
  EXPECT_GT(made, 150);
}

TEST(FreshHeads, AreDrawnAsTheFamilyDraws) {
  const auto weights = weights_of(with_head(golden("bert-masked-lm"), Head::sequence_classification,
                                            Labels{{"no", "perhaps", "yes"}, ProblemType::single_label}));
  const Tensor classifier = weights.at("classifier.weight"), pooler = weights.at("bert.pooler.dense.weight");
  EXPECT_EQ(classifier.size(0), 3);
  const double range = ModelDirectory(golden("bert-masked-lm")).config().number({"initializer_range"}, 0.02);
  EXPECT_NEAR(ops::standard_deviation(pooler), range, 0.15 * range);
  EXPECT_GT(classifier.abs().max().item<double>(), 0);
  EXPECT_EQ(weights.at("classifier.bias").abs().max().item<double>(), 0);
  EXPECT_EQ(weights.at("bert.pooler.dense.bias").abs().max().item<double>(), 0);
}

TEST(FreshHeads, FollowFromTheirSeed) {
  const auto draw = [](std::uint64_t seed) {
    return weights_of(
               with_head(golden("bert-masked-lm"), Head::token_classification, Labels{{"O", "B"}}, seed))
        .at("classifier.weight");
  };
  EXPECT_TRUE(ops::equal(draw(5), draw(5)));
  EXPECT_FALSE(ops::equal(draw(5), draw(6)));
}

TEST(FreshHeads, LearnAndTheirLabelsAreSaved) {
  const PretrainedModel model = with_head(golden("bert-masked-lm"), Head::sequence_classification,
                                          Labels{{"sad", "glad"}, ProblemType::multi_label});
  for (const Tensor& p : model.network()->parameters()) EXPECT_TRUE(p.requires_grad());
  const TemporaryDirectory copy;
  model.save(copy.path());
  const ModelDirectory saved(copy.path());
  EXPECT_EQ(saved.architectures(), std::vector<std::string>{"BertForSequenceClassification"});
  EXPECT_EQ(read_labels(saved.config()), (std::vector<std::string>{"sad", "glad"}));
  EXPECT_EQ(saved.config().json().at("label2id").at("glad"), 1);
  EXPECT_EQ(saved.config().text({"problem_type"}), "multi_label_classification");
}

TEST(FreshHeads, AClassifierIsKeptOnlyForItsOwnLabels) {
  const fs::path path = golden("bert-classifier");
  const std::vector<std::string> own = read_labels(ModelDirectory(path).config());
  const Tensor trained =
      weights_of(PretrainedModel::load(ModelDirectory(path), Purpose::training)).at("classifier.weight");
  const auto with = [&](std::vector<std::string> names) {
    return weights_of(with_head(path, Head::sequence_classification, Labels{std::move(names)}))
        .at("classifier.weight");
  };
  EXPECT_TRUE(ops::equal(with(own), trained));
  std::vector<std::string> more = own;
  more.push_back("one more");
  EXPECT_EQ(with(more).size(0), trained.size(0) + 1);

  // Once they have names, the same number of others is not the same.
  const TemporaryDirectory named;
  std::vector<std::string> names, others;
  for (std::size_t i = 0; i < own.size(); ++i) {
    names.push_back("class " + std::to_string(i));
    others.push_back("kind " + std::to_string(i));
  }
  with_head(path, Head::sequence_classification, Labels{names}).save(named.path());
  const PretrainedModel same = with_head(named.path(), Head::sequence_classification, Labels{names}),
                        other = with_head(named.path(), Head::sequence_classification, Labels{others});
  EXPECT_TRUE(ops::equal(weights_of(same).at("classifier.weight"), trained));
  EXPECT_FALSE(ops::equal(weights_of(other).at("classifier.weight"), trained));
  // Nor are labels of tokens those of a text.
  const PretrainedModel tokens = with_head(named.path(), Head::token_classification, Labels{names});
  EXPECT_FALSE(ops::equal(weights_of(tokens).at("classifier.weight"), trained));
}

TEST(FreshHeads, WhatTheBodyLacksStaysAnError) {
  const TemporaryDirectory broken;
  const PretrainedModel whole =
      PretrainedModel::load(ModelDirectory(golden("bert-model")), Purpose::training);
  whole.save(broken.path());
  auto tensors = weights_of(whole);
  tensors.erase("encoder.layer.0.output.dense.weight");
  write_tensors(broken.path() / "model.safetensors", tensors);
  EXPECT_TRUE(contains(error_of([&] { with_head(broken.path(), Head::sequence_classification); }),
                       "output.dense.weight is missing"));
}

TEST(FreshHeads, LabelsThatCannotBeToldApartAreAnError) {
  const auto with = [](std::vector<std::string> names) {
    return error_of([&] { with_head(golden("bert-model"), Head::sequence_classification, Labels{names}); });
  };
  EXPECT_TRUE(contains(with({"a", "b", "a"}), "the label a is there twice"));
  EXPECT_TRUE(contains(with({}), "expected at least one label"));
  EXPECT_TRUE(contains(with({"a", "\xff"}), "not valid UTF-8"));
}

// The loss of a pass with dropout, on a few tokens.
Tensor hidden_of(const PretrainedModel& model, Pass pass) {
  Transformer net = model.network();
  const TokenBatch batch = TokenBatch::from({{1, 2, 3, 4, 5}, {6, 7, 8}});
  NoGradGuard no_grad;
  if (!net->is_encoder_decoder()) return net->decoder ? net->decode(batch, pass) : net->encode(batch, pass);
  const EncoderMemory memory = net->remember(net->encode(batch, pass), batch.offsets, pass);
  return net->decode(batch, pass, &memory);
}

TEST(Dropout, MeansTheSameForEveryFamily) {
  for (const std::string& name : golden_networks()) {
    const fs::path path = golden(name);
    SCOPED_TRACE(path.filename().string());
    const ModelDirectory directory(path);
    const auto load = [&](const DropoutRates& rates) {
      return PretrainedModel::load(directory, {.purpose = Purpose::training, .dropout = rates});
    };
    if (load({}).network()->reads_images()) continue;
    const PretrainedModel none = load({.all = 0.0}), half = load({.all = 0.5});
    const Tensor plain = hidden_of(none, Pass::inference());
    EXPECT_TRUE(ops::equal(hidden_of(none, Pass::training(1)), plain));
    EXPECT_TRUE(ops::equal(hidden_of(half, Pass::inference()), plain));
    EXPECT_FALSE(ops::equal(hidden_of(half, Pass::training(1)), plain));
    EXPECT_FALSE(ops::equal(hidden_of(half, Pass::training(1)), hidden_of(half, Pass::training(2))));
    // Each of the two has a place in every family, and overrules the first.
    for (const DropoutRates& one :
         {DropoutRates{.all = 0.0, .attention = 0.5}, {.all = 0.0, .activation = 0.5}})
      EXPECT_FALSE(ops::equal(hidden_of(load(one), Pass::training(1)), plain));
    EXPECT_EQ(half.config().json(), directory.config().json());
  }
}

// With weights as they are drawn, a language model knows nothing: its loss is ln V. T5 and the original
// Transformer begin with scores of width 1, which adds a half.
TEST(FreshModels, KnowNothingYet) {
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
    NoGradGuard no_grad;
    Tensor hidden;
    if (net->is_encoder_decoder()) {
      const EncoderMemory memory = net->remember(net->encode(batch, pass), batch.offsets, pass);
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
    EXPECT_LT(parameters, models * 12'000'000);
    EXPECT_GT(parameters, 1'500'000);
  }
}

TEST(FreshModels, AreDrawnAsTheirAuthorsDid) {
  const auto draw = [](const char* family, const Json& changes) {
    Json config = find_family(family).fresh_config(find_family(family).presets.front());
    config.update(changes);
    return weights_of(PretrainedModel::fresh(Fields(config, "config.json"), 11));
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

TEST(FreshModels, NameNoTokensThatTheirVocabularyLacks) {
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

TEST(Companions, GoWithAModel) {
  const TemporaryDirectory from, to;
  for (const char* name :
       {"tokenizer.json", "preprocessor_config.json", "sentence_bert_config.json",
        "config_sentence_transformers.json", "chat_template.jinja", "1_Pooling/config.json",
        "2_Dense/config.json", "2_Dense/model.safetensors", "unrelated/config.json", "notes.txt"})
    from.file(name, name);
  from.file("modules.json",
            R"([{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}, {"path": "3_Normalize"}])");
  copy_companions(from.path(), to.path());
  for (const char* name : {"tokenizer.json", "preprocessor_config.json", "sentence_bert_config.json",
                           "config_sentence_transformers.json", "chat_template.jinja",
                           "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"})
    EXPECT_EQ(read_file(to.path() / name), name);
  EXPECT_TRUE(fs::exists(to.path() / "modules.json"));
  EXPECT_FALSE(fs::exists(to.path() / "unrelated"));
  EXPECT_FALSE(fs::exists(to.path() / "notes.txt"));
  copy_companions(from.path(), from.path());
  from.file("modules.json", R"([{"path": "../elsewhere"}])");
  EXPECT_TRUE(contains(error_of([&] { copy_companions(from.path(), to.path()); }), "../elsewhere"));
}

TEST(Companions, OfASentenceEncoderSayHowItPools) {
  for (const bool normalize : {false, true}) {
    const TemporaryDirectory made;
    made.file("config.json", "{}");
    write_sentence_modules(
        made.path(),
        {.mode = SentencePooling::Mode::max, .normalize = normalize, .max_length = 77, .prompt = "query: "},
        12);
    const SentencePooling read = ModelDirectory(made.path()).sentence_pooling().value();
    EXPECT_EQ(read.mode, SentencePooling::Mode::max);
    EXPECT_EQ(read.normalize, normalize);
    EXPECT_EQ(read.max_length, 77);
    EXPECT_EQ(read.prompt, "query: ");
    EXPECT_FALSE(read.lowercase);
  }
}

}  // namespace
}  // namespace attend
