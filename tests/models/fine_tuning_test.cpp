// A pretrained directory with another head, new weights, dropout: the start of training.
#include "base/file.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/derived/companions.h"
#include "models/derived/fresh.h"
#include "models/families/head.h"
#include "models/padded/forward.h"
#include "models/weights/tensors.h"
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
      continue;  // two bodies, which have no use without the head
    const std::string body = architecture_for(*family, Head::body);
    EXPECT_TRUE(body.ends_with("Model")) << body;
  }
}

TEST(Heads, TheDirectorysOwnArchitectureIsKeptIfItFits) {
  const Family& t5 = find_family("t5");
  EXPECT_EQ(architecture_for(t5, Head::body, "T5EncoderModel"), "T5EncoderModel");
  EXPECT_EQ(architecture_for(t5, Head::body, "T5ForConditionalGeneration"), "T5Model");
}

TEST(Heads, AMissingHeadNamesTheFamiliesThatHaveIt) {
  const std::string error =
      error_of([] { architecture_for(find_family("gpt2"), Head::masked_language_model); });
  EXPECT_TRUE(contains(error, "gpt2 has no architecture that is a masked language model"));
  EXPECT_TRUE(contains(error, "bert"));
  EXPECT_TRUE(contains(error, "xlm"));
  EXPECT_FALSE(contains(error, "vit"));
}

// Every golden model with every head of its family: the body is unchanged, only the head is new, and the
// saved model loads completely.
TEST(FreshHeads, FitEveryPretrainedBody) {
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
        // Two heads have a body that is wider than the head.
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
  for (const Tensor& p : model.network()->parameters()) EXPECT_TRUE(p.needs_gradient());
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

  // Labels with names differ from the same number of other labels.
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
  // Labels of tokens also differ from labels of texts.
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

TEST(FreshHeads, IndistinguishableLabelsAreAnError) {
  const auto with = [](std::vector<std::string> names) {
    return error_of([&] { with_head(golden("bert-model"), Head::sequence_classification, Labels{names}); });
  };
  EXPECT_TRUE(contains(with({"a", "b", "a"}), "the label a occurs twice"));
  EXPECT_TRUE(contains(with({}), "expected at least one label"));
  EXPECT_TRUE(contains(with({"a", "\xff"}), "not valid UTF-8"));
}

// The loss of a pass with dropout, on a few tokens.
Tensor hidden_of(const PretrainedModel& model, Pass pass) {
  Transformer net = model.network();
  const TokenBatch batch = TokenBatch::from({{1, 2, 3, 4, 5}, {6, 7, 8}});
  Unrecorded no_grad;
  if (!net->is_encoder_decoder()) return net->decoder ? net->decode(batch, pass) : net->encode(batch, pass);
  const CrossAttentionKV memory = net->project_kv(net->encode(batch, pass), batch.offsets, pass);
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
    // Each of the two exists in every family, and overrides the first.
    for (const DropoutRates& one :
         {DropoutRates{.all = 0.0, .attention = 0.5}, {.all = 0.0, .activation = 0.5}})
      EXPECT_FALSE(ops::equal(hidden_of(load(one), Pass::training(1)), plain));
    EXPECT_EQ(half.config().json(), directory.config().json());
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
