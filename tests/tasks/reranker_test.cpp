// Scores of queries and documents, as sentence-transformers and Qwen3-Reranker's model card compute them
// (tests/oracle/make_rerank_goldens.py).
#include <attend/reranker.h>

#include "base/file.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const Json& rerank_goldens() {
  static const Json all = read_json(test_data() / "rerank" / "goldens.json");
  return all;
}

// The directory of a case; `change` is a file with other content.
class RerankModel {
 public:
  explicit RerankModel(const Json& golden, const std::string& change = "", const Json& content = {}) {
    const std::filesystem::path body = test_data() / "models/qwen3";
    files.file("model.safetensors", read_file(body / "model.safetensors"));
    Json config = read_json(body / "config.json");
    config["max_position_embeddings"] = 256;
    files.file("config.json", config.dump());
    for (const auto& [name, text] : golden.at("files").items())
      files.file(name, text.is_string() ? text.get<std::string>() : text.dump());
    if (!change.empty()) files.file(change, content.dump());
  }
  std::filesystem::path path() const { return files.path(); }

  TemporaryDirectory files;
};

std::vector<TextAndPair> rerank_pairs() {
  std::vector<TextAndPair> pairs;
  for (const Json& pair : rerank_goldens().at("pairs"))
    pairs.push_back({pair[0], pair[1].get<std::string>()});
  return pairs;
}

RerankOptions rerank_options(const Json& json) {
  RerankOptions options;
  if (json.contains("prompt")) options.prompt = json.at("prompt");
  if (json.contains("prompt_name")) options.prompt_name = json.at("prompt_name");
  options.raw_scores = json.value("raw_scores", false);
  options.truncate = json.value("truncate", false);
  return options;
}

TEST(Reranker, ScoresAsTheOriginals) {
  std::size_t calls = 0;
  for (const Json& golden : rerank_goldens().at("cases")) {
    const RerankModel model(golden);
    Reranker reranker(model.path());
    for (const Json& call : golden.at("calls")) {
      const auto wanted = call.at("scores").get<std::vector<float>>();
      const std::vector<float> found = reranker.score(rerank_pairs(), rerank_options(call.at("options")));
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], wanted[i], 1e-5) << golden.at("name") << call.at("options") << i;
      ++calls;
    }
  }
  EXPECT_EQ(calls, 10u);
}

TEST(Reranker, CountsTheTokensThatItReads) {
  const RerankModel model(rerank_goldens().at("cases")[0]);
  const Reranker reranker(model.path());
  const auto counts = reranker.count_tokens({{"fox", "the river"}, {"fox", "the red river"}});
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[1], counts[0] + 1);
  RerankOptions options;
  options.prompt = "the the the the the the the the";
  EXPECT_GT(reranker.count_tokens({{"fox", "the river"}}, options)[0], counts[0]);
  EXPECT_ERROR("expected a document for each query", reranker.count_tokens({{"a"}}));
}

TEST(Reranker, RefusesWhatItCannotRead) {
  const Json& cases = rerank_goldens().at("cases");
  const RerankModel model(cases[0]);
  Reranker reranker(model.path());
  RerankOptions options;
  options.prompt_name = "news";
  EXPECT_ERROR("prompt_name: the model has no prompt \"news\"", reranker.score({{"a", "b"}}, options));
  EXPECT_ERROR("expected a document for each query", reranker.score({{"a"}}));
  std::string text = "fox";
  for (int i = 0; i < 300; ++i) text += " fox";
  EXPECT_ERROR("tokens, but the model reads 256", reranker.score({{"a", text}}));
  const auto changed = [&](const std::string& name, const Json& content) {
    const RerankModel other(cases[0], name, content);
    Reranker load(other.path());
  };
  EXPECT_ERROR("expected a token below 41, found 41",
               changed("1_LogitScore/config.json", {{"true_token_id", 41}}));
  EXPECT_ERROR("true_token_id", changed("1_LogitScore/config.json", Json::object()));
  EXPECT_ERROR("expected message", changed("sentence_bert_config.json", Json::object()));
  EXPECT_ERROR("expected flat",
               changed("sentence_bert_config.json", {{"modality_config", {{"message", Json::object()}}}}));
  Json modules = cases[0].at("files").at("modules.json");
  modules.push_back({{"type", "x.Normalize"}, {"path", ""}});
  EXPECT_ERROR("expected the modules Transformer", changed("modules.json", modules));
}

}  // namespace
}  // namespace attend
