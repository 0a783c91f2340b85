// Text vectors as sentence-transformers computes them from a directory's files
// (tests/oracle/make_sentence_goldens.py).
#include <attend/embedder.h>
#include <attend/log.h>

#include "base/file.h"
#include "formats/json/json_floats.h"
#include "formats/tensors/safetensors.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

using Vectors = std::vector<std::vector<float>>;

const Json& goldens() {
  static const Json all = read_json(test_data() / "sentences" / "goldens.json");
  return all;
}

// The directory of a case: a body of tests/data/models, and the files of the golden.
class SentenceModel {
 public:
  explicit SentenceModel(const Json& golden) {
    const fs::path body = test_data() / "models" / golden.at("body").get<std::string>();
    for (const char* name : {"config.json", "model.safetensors"}) files.file(name, read_file(body / name));
    files.file("tokenizer.json",
               goldens().at("tokenizers").at(golden.at("special_tokens").get<bool>() ? 1 : 0).dump());
    for (const auto& [name, content] : golden.at("files").items()) {
      files.file(name, content.dump());
      if (name.ends_with("_Dense/config.json")) write_dense(fs::path(name).parent_path(), content);
    }
  }
  explicit SentenceModel(const char* name) : SentenceModel(find(name)) {}
  fs::path path() const { return files.path(); }

  TemporaryDirectory files;

 private:
  // The numbers of make_sentence_goldens.py.
  void write_dense(const fs::path& folder, const Json& config) {
    const auto rows = config.at("out_features").get<std::int64_t>(),
               columns = config.at("in_features").get<std::int64_t>();
    std::vector<float> weight;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        weight.push_back(static_cast<float>((i * 37 + j * 11) % 23 - 11) / 23);
    write_safetensors(files.path() / folder / "model.safetensors",
                      {{"linear.weight", {DType::f32, {rows, columns}, std::as_bytes(std::span(weight))}}});
  }
  static const Json& find(const std::string& name) {
    for (const Json& golden : goldens().at("cases"))
      if (golden.at("name") == name) return golden;
    throw std::runtime_error("no golden " + name);
  }
};

EmbedOptions read_options(const Json& json) {
  EmbedOptions options;
  const Fields fields(json, "options");
  const std::string role = fields.text({"role"}, "");
  options.role = role == "query" ? TextRole::query : role == "document" ? TextRole::document : TextRole::any;
  if (fields.has({"prompt"})) options.prompt = fields.text({"prompt"});
  if (fields.has({"prompt_name"})) options.prompt_name = fields.text({"prompt_name"});
  if (fields.has({"normalize"})) options.normalize = fields.flag({"normalize"});
  options.dimensions = fields.maybe_integer({"dimensions"});
  return options;
}

Embedder make_embedder(const SentenceModel& model, const Json& options) {
  EmbedderOptions how;
  if (options.contains("pooling")) how.pooling = options.at("pooling").get<std::string>();
  return Embedder(model.path(), how);
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << what;
}

TEST(Embed, GivesTheVectorsOfSentenceTransformers) {
  std::size_t calls = 0;
  for (const Json& golden : goldens().at("cases")) {
    const SentenceModel model(golden);
    for (const Json& call : golden.at("calls")) {
      const std::string what = golden.at("name").get<std::string>() + " " + call.at("options").dump();
      Embedder embedder = make_embedder(model, call.at("options"));
      const auto texts = call.at("texts").get<std::vector<std::string>>();
      const auto expected = call.at("vectors").get<Vectors>();
      const Vectors found = embedder.embed(texts, read_options(call.at("options")));
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        expect_near(found[i], expected[i], what + ": " + texts[i]);
      ++calls;
    }
  }
  EXPECT_GT(calls, 40u);
}

TEST(Embed, ScoresByTheSimilarityOfTheModel) {
  std::set<Similarity> kinds;
  for (const Json& golden : goldens().at("cases")) {
    if (!golden.contains("similarities")) continue;
    const SentenceModel model(golden);
    Embedder embedder(model.path());
    const auto texts = golden.at("texts").get<std::vector<std::string>>();
    EmbedOptions query, document;
    query.role = TextRole::query;
    document.role = TextRole::document;
    const Vectors queries = embedder.embed(texts, query), documents = embedder.embed(texts, document);
    const auto expected = golden.at("similarities").get<Vectors>();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<float> found(texts.size());
      float last = std::numeric_limits<float>::infinity();
      for (const Neighbour& near : nearest(queries[i], documents, texts.size(), embedder.similarity())) {
        EXPECT_LE(near.similarity, last);
        last = found[near.number] = near.similarity;
      }
      expect_near(found, expected[i], golden.at("name").get<std::string>() + ": " + texts[i]);
    }
    kinds.insert(embedder.similarity());
  }
  EXPECT_EQ(kinds.size(), 4u);
}

TEST(Embed, RefusesOptionsTheModelLacks) {
  const SentenceModel model("prompts");
  Embedder embedder(model.path());
  EmbedOptions options;
  options.prompt_name = "nonsense";
  EXPECT_TRUE(contains(error_of([&] { embedder.embed({"fox"}, options); }),
                       R"(no prompt "nonsense"; it has document, query, topic)"));
  for (const std::int64_t dimensions : {-1, 0, 13}) {
    options = {};
    options.dimensions = dimensions;
    EXPECT_TRUE(contains(error_of([&] { embedder.embed({"fox"}, options); }),
                         "dimensions: expected 1 to 12, which is the size of the model's vectors, found " +
                             std::to_string(dimensions)));
  }
  EXPECT_TRUE(contains(error_of([&] { Embedder(model.path(), {.pooling = "median"}); }),
                       "pooling: expected cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken, "
                       "found \"median\""));
}

TEST(Embed, CountsTokensAndRefusesLongTexts) {
  const SentenceModel model("limit of the tokenizer");
  Embedder embedder(model.path());
  const std::vector<std::string> texts = {"fox", "the red fox the red fox"};
  EXPECT_EQ(embedder.count_tokens(texts), (std::vector<std::size_t>{3, 7}));
  EmbedOptions options;
  options.truncate = false;
  EXPECT_TRUE(contains(error_of([&] { embedder.embed(texts, options); }),
                       "text 2 has 8 tokens, and the model reads 7: shorten it, or let it be truncated"));
  EXPECT_EQ(embedder.embed({"fox"}, options), embedder.embed({"fox"}));
  options.prompt = "the red";
  EXPECT_EQ(embedder.count_tokens({" fox"}, options), (std::vector<std::size_t>{5}));
}

TEST(Embed, ReportsItsDefaultsWithoutModules) {
  std::vector<std::string> lines;
  const auto lines_of = [&](const char* name, const EmbedderOptions& options) {
    lines.clear();
    const SentenceModel model(name);
    set_log([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
    Embedder(model.path(), options).embed({"a", "b"});
    log_to_standard_error();
    return lines;
  };
  ASSERT_EQ(lines_of("no modules", {}).size(), 1u);
  EXPECT_TRUE(contains(lines[0], "no modules.json, so vectors are those of mean pooling, not normalized"));
  ASSERT_EQ(lines_of("no modules, causal", {}).size(), 1u);
  EXPECT_TRUE(contains(lines[0], "lasttoken pooling"));
  EXPECT_TRUE(lines_of("no modules", {.pooling = "mean"}).empty());
  EXPECT_TRUE(lines_of("prompts", {}).empty());
}

TEST(Embed, DoesNotReportAnUnusedPooler) {
  const SentenceModel model("prompts");
  // Renaming a tensor in the header keeps all lengths.
  std::string weights = read_file(model.path() / "model.safetensors");
  for (std::size_t at; (at = weights.find("pooler.dense")) != weights.npos;) weights.replace(at, 6, "others");
  model.files.file("model.safetensors", weights);
  std::vector<std::string> lines;
  set_log([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  Embedder(model.path()).embed({"a"});
  log_to_standard_error();
  for (const std::string& line : lines) EXPECT_EQ(line.find("has no pooler"), line.npos) << line;
}

// Each is read back as the same float32.
TEST(Embed, NumbersInJsonAreAsShortAsAFloatAllows) {
  EXPECT_EQ(float_list(std::vector<float>{0.1f, 0.0870923176407814f, -2, 0}).dump(),
            "[0.1,0.08709232,-2.0,0.0]");
  for (float x = 1e-20f; x < 1e20f; x *= 1.7f) EXPECT_EQ(static_cast<float>(shortest_double(x)), x);
}

}  // namespace
}  // namespace attend
