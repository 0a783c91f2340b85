// Weights and vectors of tokens, as sentence-transformers' SparseEncoder and BGE-M3's definitions give them
// (tests/oracle/make_token_weight_goldens.py).
#include <attend/token_weights.h>

#include "base/file.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

fs::path token_weight_data() {
  return test_data() / "token_weights";
}

const Json& token_weight_goldens() {
  static const Json all = read_json(token_weight_data() / "goldens.json");
  return all;
}

// The directory of a case. BGE-M3's has the files of its two linear layers.
class TokenWeightModel {
 public:
  explicit TokenWeightModel(const std::string& name) {
    const Json& golden = token_weight_goldens().at(name);
    const fs::path body = test_data() / "models" / golden.at("body").get<std::string>();
    for (const char* file : {"config.json", "model.safetensors"}) files.file(file, read_file(body / file));
    for (const auto& [file, content] : golden.at("files").items()) files.file(file, content.dump());
    if (name == "BGE-M3")
      for (const char* file : {"sparse_linear.pt", "colbert_linear.pt"})
        files.file(file, read_file(token_weight_data() / file));
  }
  fs::path path() const { return files.path(); }

  TemporaryDirectory files;
};

std::vector<std::string> token_weight_texts() {
  return token_weight_goldens().at("texts").get<std::vector<std::string>>();
}

TEST(TokenWeights, AreThoseOfTheOriginals) {
  for (const char* name : {"SPLADE", "sums", "two logarithms", "BGE-M3"}) {
    const TokenWeightModel model(name);
    SparseEmbedder embedder(model.path());
    for (const Json& call : token_weight_goldens().at(name).at("calls")) {
      EmbedOptions options;
      if (call.at("options").contains("prompt_name"))
        options.prompt_name = call.at("options").at("prompt_name");
      const auto found = embedder.embed(token_weight_texts(), options);
      ASSERT_EQ(found.size(), call.at("weights").size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        const Json& wanted = call.at("weights")[i];
        EXPECT_EQ(found[i].size(), wanted.size());
        float last = INFINITY;
        for (const TokenWeight& each : found[i]) {
          const std::string text = each.text.empty() ? fmt::format("#{}", each.token) : each.text;
          ASSERT_TRUE(wanted.contains(text)) << name << text;
          EXPECT_NEAR(each.weight, wanted.at(text).get<float>(), 1e-5) << name << text;
          EXPECT_LE(each.weight, last);
          last = each.weight;
        }
      }
    }
  }
}

TEST(TokenWeights, MultiplyOverCommonTokens) {
  EXPECT_FLOAT_EQ(similarity({{3, "", 2.0f}, {5, "", 4.0f}}, {{5, "", 0.5f}, {9, "", 1.0f}, {3, "", 1.5f}}),
                  5);
  EXPECT_EQ(similarity(std::vector<TokenWeight>{}, {{5, "", 0.5f}}), 0);
}

TEST(TokenVectors, AreThoseOfTheOriginal) {
  const TokenWeightModel model("BGE-M3");
  TokenEmbedder embedder(model.path());
  const std::vector<Features> found = embedder.embed(token_weight_texts());
  const Json& golden = token_weight_goldens().at("BGE-M3");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto wanted = golden.at("vectors")[i].get<std::vector<std::vector<float>>>();
    ASSERT_EQ(found[i].tokens, wanted.size());
    for (std::size_t t = 0; t < wanted.size(); ++t)
      for (std::size_t j = 0; j < found[i].width; ++j)
        EXPECT_NEAR(found[i].values[t * found[i].width + j], wanted[t][j], 1e-5);
    for (std::size_t j = 0; j < found.size(); ++j)
      EXPECT_NEAR(late_interaction(found[i], found[j]), golden.at("late_interaction")[i][j].get<float>(),
                  1e-5);
  }
  EXPECT_EQ(late_interaction({}, found[0]), 0);
}

TEST(TokenWeights, RefuseOtherModels) {
  const TokenWeightModel splade("SPLADE"), m3("BGE-M3");
  EXPECT_ERROR("its modules make no vectors: they weigh tokens (attend run sparse-vectors)",
               Embedder(splade.path()));
  EXPECT_ERROR("expected BGE-M3, with colbert_linear.pt", TokenEmbedder(splade.path()));
  EmbedOptions options;
  options.dimensions = 5;
  SparseEmbedder embedder(m3.path());
  EXPECT_ERROR("neither cut to dimensions", embedder.embed({"fox"}, options));
  m3.files.file("sparse_linear.pt", read_file(token_weight_data() / "colbert_linear.pt"));
  EXPECT_ERROR("expected a matrix of 12 columns and 1 rows, found [6, 12]", SparseEmbedder(m3.path()));
  m3.files.file("sparse_linear.pt", "damaged");
  EXPECT_ERROR("sparse_linear.pt", SparseEmbedder(m3.path()));
  fs::remove(m3.path() / "sparse_linear.pt");
  EXPECT_ERROR("expected SPLADE (a module SpladePooling in modules.json) or BGE-M3",
               SparseEmbedder(m3.path()));
  splade.files.file("1_SpladePooling/config.json", R"({"pooling_strategy": "mean"})");
  EXPECT_ERROR("pooling_strategy: expected max or sum, found \"mean\"", SparseEmbedder(splade.path()));
}

}  // namespace
}  // namespace attend
