#include "sources/model_directory.h"

#include "formats/tensors/safetensors.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

class ModelDirectoryTest : public testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) { directory_.file(name, text); }

  void write_weights(const std::string& file, const std::vector<std::string>& names) {
    static constexpr std::byte data[4] = {};
    std::map<std::string, TensorView> tensors;
    for (const std::string& name : names) tensors[name] = {DType::f32, {1}, data};
    write_safetensors(path() / file, tensors);
  }

  std::string checkpoint_error() {
    return error_of([&] { open_source(path())->weight_files(); });
  }
  std::string pooling_error() {
    return error_of([&] { ModelDirectory(path()).sentence_pooling(); });
  }

  const fs::path& path() const { return directory_.path(); }

  TemporaryDirectory directory_;
};

TEST_F(ModelDirectoryTest, ReadsTheConfiguration) {
  write("config.json", R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8})");
  const ModelDirectory model(path());
  EXPECT_EQ(model.model_type(), "bert");
  EXPECT_EQ(model.architectures(), std::vector<std::string>{"BertModel"});
  EXPECT_EQ(model.config().integer({"hidden_size"}), 8);
  EXPECT_EQ(error_of([&] { model.config().integer({"layers"}); }),
            (path() / "config.json").string() +
                ": layers: expected an integer from 1 to 2147483648, found nothing");
}

TEST_F(ModelDirectoryTest, SaysWhatADirectoryNeeds) {
  const std::string needs =
      "a model is a directory with config.json, model.safetensors and the tokenizer's files, or a GGUF file";
  const auto error = [](const fs::path& wrong) { return error_of([&] { ModelDirectory{wrong}; }); };
  EXPECT_EQ(error("some/name"),
            "some/name: no such directory; models are not downloaded, so give the directory of a model (" +
                needs + ")");
  EXPECT_EQ(error(path()), path().string() + ": the directory has no config.json; " + needs);
  write("config.json", "[]");
  EXPECT_EQ(error(path() / "config.json"), (path() / "config.json").string() + ": not a directory; " + needs);
  EXPECT_TRUE(contains(error(path()), "config.json: expected a JSON object, found []"));
  write("config.json", "{}");
  EXPECT_TRUE(contains(error_of([&] { ModelDirectory(path()).model_type(); }),
                       "config.json: model_type: expected a text, found nothing"));
}

TEST_F(ModelDirectoryTest, PrefersTheGenerationConfig) {
  write("config.json", R"({"num_beams": 4, "hidden_size": 8, "eos_token_id": [1, 2], "pad_token_id": null})");
  EXPECT_EQ(ModelDirectory(path()).generation_config().dump(), R"({"num_beams":4,"eos_token_id":[1,2]})");
  write("generation_config.json", R"({"num_beams": 2})");
  EXPECT_EQ(ModelDirectory(path()).generation_config().dump(), R"({"num_beams":2})");
  write("generation_config.json", "3");
  EXPECT_TRUE(contains(error_of([&] { ModelDirectory(path()).generation_config(); }),
                       "generation_config.json: expected a JSON object, found 3"));
}

TEST_F(ModelDirectoryTest, OpensOneFile) {
  write_weights("model.safetensors", {"a", "b"});
  const WeightFiles checkpoint = open_source(path())->weight_files();
  EXPECT_EQ(checkpoint.tensors().size(), 2u);
  ASSERT_NE(checkpoint.find("a"), nullptr);
  EXPECT_EQ(checkpoint.find("a")->shape, std::vector<std::int64_t>{1});
  EXPECT_EQ(checkpoint.find("c"), nullptr);
  EXPECT_EQ(checkpoint.file_of("a"), path() / "model.safetensors");
  EXPECT_EQ(error_of([&] { checkpoint.file_of("c"); }), "the checkpoint has no tensor \"c\"");
}

TEST_F(ModelDirectoryTest, OpensShards) {
  write_weights("one.safetensors", {"a", "b"});
  write_weights("two.safetensors", {"c", "unlisted"});
  write("model.safetensors.index.json", R"({"metadata": {"total_size": 12},
      "weight_map": {"a": "one.safetensors", "c": "two.safetensors", "b": "one.safetensors"}})");
  const WeightFiles checkpoint = open_source(path())->weight_files();
  EXPECT_EQ(checkpoint.files().size(), 2u);
  EXPECT_EQ(checkpoint.tensors().size(), 4u);
  EXPECT_EQ(checkpoint.file_of("b"), path() / "one.safetensors");
  EXPECT_EQ(checkpoint.file_of("c"), path() / "two.safetensors");
}

TEST_F(ModelDirectoryTest, RefusesShardsThatDoNotMatchTheIndex) {
  write_weights("one.safetensors", {"a", "b"});
  write_weights("two.safetensors", {"b", "c"});
  const auto error = [&](const std::string& map) {
    write("model.safetensors.index.json", "{\"weight_map\": " + map + "}");
    return checkpoint_error();
  };
  EXPECT_TRUE(
      contains(error(R"({"a": "three.safetensors"})"), "three.safetensors: cannot open: No such file"));
  EXPECT_TRUE(contains(error(R"({"c": "one.safetensors"})"),
                       "index.json: weight_map: tensor \"c\" is not in one.safetensors"));
  EXPECT_TRUE(contains(error(R"({"a": "one.safetensors", "c": "two.safetensors"})"),
                       "two.safetensors: tensor \"b\" is also in one.safetensors"));
  EXPECT_TRUE(contains(error(R"({"a": 7})"), "weight_map: \"a\": expected the name of a file, found 7"));
  EXPECT_TRUE(contains(error("[]"), "weight_map: expected a JSON object, found []"));
  write("model.safetensors.index.json", "{}");
  EXPECT_TRUE(contains(checkpoint_error(), "weight_map: expected a JSON object, found null"));
}

TEST_F(ModelDirectoryTest, RefusesShardsOutsideTheDirectory) {
  directory_.file("model/x", "");
  write_weights("outside.safetensors", {"a"});
  write_weights("model/inside.safetensors", {"a"});
  const std::string absolute = (path() / "outside.safetensors").string();
  for (const std::string& shard :
       {std::string("../outside.safetensors"), absolute, std::string(".."), std::string("."), std::string(),
        std::string("./inside.safetensors"), std::string("inside.safetensors\\u0000")}) {
    write("model/model.safetensors.index.json", "{\"weight_map\": {\"a\": \"" + shard + "\"}}");
    EXPECT_TRUE(contains(error_of([&] { open_source(path() / "model")->weight_files(); }),
                         "weight_map: \"a\": expected a name inside the directory, found \""))
        << shard;
  }
}

TEST_F(ModelDirectoryTest, ReadsPicklesOnlyWithoutSafetensors) {
  EXPECT_EQ(checkpoint_error(), path().string() +
                                    ": the directory has no model.safetensors, no pytorch_model.bin "
                                    "and no index of either");
  write("pytorch_model.bin.index.json", R"({"weight_map": {"a": "one.bin"}})");
  EXPECT_TRUE(contains(checkpoint_error(), "one.bin"));
  write("pytorch_model.bin", "PK");
  EXPECT_TRUE(contains(checkpoint_error(), "pytorch_model.bin: byte 1 of the pickle"));
  write_weights("model.safetensors", {"a"});
  EXPECT_EQ(open_source(path())->weight_files().files().size(), 1u);
}

constexpr const char* mean_modules = R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])";
constexpr const char* cls_modules = R"([
    {"idx": 0, "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"}])";

TEST_F(ModelDirectoryTest, WithoutModulesHasNoSentencePooling) {
  write("config.json", "{}");
  EXPECT_FALSE(ModelDirectory(path()).sentence_pooling());
}

TEST_F(ModelDirectoryTest, ReadsOldSentenceModels) {
  write("config.json", "{}");
  write("modules.json", mean_modules);
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 384, "pooling_mode_cls_token": false,
      "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false})");
  write("sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": true})");
  write("tokenizer_config.json", R"({"model_max_length": 512})");
  const auto pooling = ModelDirectory(path()).sentence_pooling();
  ASSERT_TRUE(pooling);
  EXPECT_EQ(pooling->mode, SentencePooling::Mode::mean);
  EXPECT_TRUE(pooling->normalize);
  EXPECT_EQ(pooling->max_length, 256);
  EXPECT_EQ(pooling->prompt, "");
  EXPECT_TRUE(pooling->lowercase);

  write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  EXPECT_EQ(ModelDirectory(path()).sentence_pooling()->mode, SentencePooling::Mode::max);
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  EXPECT_EQ(ModelDirectory(path()).sentence_pooling()->mode, SentencePooling::Mode::cls);
  write("1_Pooling/config.json", "{}");
  EXPECT_EQ(ModelDirectory(path()).sentence_pooling()->mode, SentencePooling::Mode::mean);
}

TEST_F(ModelDirectoryTest, ReadsNewSentenceModels) {
  write("config.json", "{}");
  write("modules.json", cls_modules);
  write("1_Pooling/config.json",
        R"({"embedding_dimension": 8, "pooling_mode": "cls", "include_prompt": true})");
  write("sentence_bert_config.json", R"({"transformer_task": "feature-extraction"})");
  write("tokenizer_config.json", R"({"model_max_length": 16})");
  write("config_sentence_transformers.json",
        R"({"default_prompt_name": "query", "prompts": {"query": "query: ", "document": ""}})");
  const auto pooling = ModelDirectory(path()).sentence_pooling();
  ASSERT_TRUE(pooling);
  EXPECT_EQ(pooling->mode, SentencePooling::Mode::cls);
  EXPECT_FALSE(pooling->normalize);
  EXPECT_EQ(pooling->max_length, 16);
  EXPECT_EQ(pooling->prompt, "query: ");

  write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(ModelDirectory(path()).sentence_pooling()->max_length, std::nullopt);
  write("1_Pooling/config.json", R"({"pooling_mode": "cls", "include_prompt": false})");
  EXPECT_TRUE(contains(pooling_error(), "include_prompt: pooling without the prompt is not supported"));
}

TEST_F(ModelDirectoryTest, RefusesOtherSentenceModels) {
  write("config.json", "{}");
  write("modules.json", cls_modules);
  EXPECT_TRUE(contains(pooling_error(), "1_Pooling/config.json: cannot open"));
  write("1_Pooling/config.json", R"({"pooling_mode": ["mean", "max"]})");
  EXPECT_TRUE(contains(pooling_error(), "Pooling of one kind and perhaps Normalize"));
  write("1_Pooling/config.json", R"({"pooling_mode_weightedmean_tokens": true})");
  EXPECT_EQ(ModelDirectory(path()).sentence_pooling()->mode, SentencePooling::Mode::weighted_mean);
  write("1_Pooling/config.json", "{}");

  const auto error = [&](const char* modules) {
    write("modules.json", modules);
    return pooling_error();
  };
  EXPECT_TRUE(contains(error(R"([{"type": "Transformer"}, {"type": "Pooling", "path": "1_Pooling"},
                                 {"type": "x.Dense", "path": "2_Dense"}])"),
                       "2_Dense/config.json: cannot open"));
  const std::string expected = "expected the modules Transformer and Pooling before all others";
  EXPECT_TRUE(contains(error(R"([{"type": "Transformer"}])"), expected));
  EXPECT_TRUE(contains(error("[]"), expected));
  EXPECT_TRUE(contains(error("{}"), "expected a list of modules, found {}"));
  EXPECT_TRUE(contains(error("[7]"), "a module: expected a JSON object, found 7"));
  EXPECT_TRUE(contains(error(R"([{"path": ""}])"), "type: expected a text, found nothing"));
  EXPECT_TRUE(contains(
      error(
          R"([{"type": "Transformer", "path": "0_Transformer"}, {"type": "Pooling", "path": "1_Pooling"}])"),
      "expected the transformer directly in the directory"));
  EXPECT_TRUE(contains(error(R"([{"type": "Transformer"}, {"type": "Pooling", "path": "../1_Pooling"}])"),
                       "expected a name inside the directory"));
}

}  // namespace
}  // namespace attend
