#include "explain/page.h"

#include "base/base64.h"
#include "base/file.h"
#include "expect_error.h"
#include "explain/document.h"
#include "explain/memory_key.h"
#include "explain/predictions.h"
#include "explain/still.h"
#include "formats/tensors/safetensors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

Explanation small() {
  Explanation all{.model = "tiny", .family = "bert", .architecture = "BertModel"};
  ExplainedSide side{.name = "text", .texts = {"</script>\u202e<b>"}, .tokens = {}};
  for (const char* text : {"</script>", "\u202e", " <b>"})
    side.tokens.push_back({.text = text, .piece = text});
  all.sides.push_back(side);
  ExplainedAttention attention{.name = "self"};
  const Tensor query = ops::arange(24, kFloat).view({2, 3, 4}) / 10;
  ScoreTerms formed{
      .query = query, .key = query.flip(1), .value = query, .scale = 0.5, .penalty = ops::zeros({3, 3})};
  const Tensor weights = ops::softmax(ops::matmul(formed.query, formed.key.transpose(1, 2)) * 0.5, -1);
  attention.layers.push_back({0, weights, formed});
  attention.all_layers = 1;
  all.attentions.push_back(attention);
  return all;
}

std::string page_of(const Explanation& explanation, const PageLimits& limits = {}) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "page.html";
  write_page(explanation, file, limits);
  return read_file(file);
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin) + begin.size();
  return text.substr(at, text.find(end, at) - at);
}

TEST(ExplainPage, HoldsItsDocumentAndNoMarkupOfATokens) {
  const std::string page = page_of(small());
  EXPECT_EQ(page.find("</script>\u202e"), std::string::npos);
  EXPECT_EQ(page.find("\u202e"), std::string::npos);
  const std::string json = between(page, "<script type=\"application/json\" data-explanation>", "</script>");
  EXPECT_EQ(json.find('<'), std::string::npos);
  const Json document = parse_json(json, "the page");
  EXPECT_EQ(document["sides"][0]["tokens"][0]["text"], "</script>");
  EXPECT_EQ(document["sides"][0]["tokens"][1]["text"], "\u202e");
  EXPECT_EQ(document["attentions"][0]["layers"][0]["weights"]["shape"], Json({2, 3, 3}));
  EXPECT_EQ(document["attentions"][0]["layers"][0]["weights"]["form"], "float32");
  EXPECT_NE(page.find("Content-Security-Policy"), std::string::npos);
  // The page fetches nothing: the only addresses are names of XML namespaces.
  for (std::size_t at = page.find("http"); at != page.npos; at = page.find("http", at + 1)) {
    const std::string_view rest = std::string_view(page).substr(at);
    if (rest.starts_with("http://") || rest.starts_with("https://")) {
      EXPECT_TRUE(rest.starts_with("http://www.w3.org/")) << rest.substr(0, 80);
    }
  }
}

TEST(ExplainPage, ReducesTooLargeDocuments) {
  Explanation all = small();
  auto& added = all.attentions[0].layers[0].scores.added;
  added.push_back({"distance", ops::rand({2, 3, 3})});
  const std::string page = page_of(all, {.exact = 0, .weights = 0, .added = 4});
  const Json document = parse_json(
      between(page, "<script type=\"application/json\" data-explanation>", "</script>"), "the page");
  const Json& layer = document["attentions"][0]["layers"][0];
  EXPECT_EQ(layer["weights"]["form"], "root");
  EXPECT_EQ(layer["query"]["form"], "float16");
  EXPECT_TRUE(layer["added"][0]["scores"]["left_out"].get<bool>());
}

TEST(ExplainPage, EqualNumbersAreStoredOnce) {
  const std::string page = page_of(small());
  const Json document = parse_json(
      between(page, "<script type=\"application/json\" data-explanation>", "</script>"), "the page");
  const Json& layer = document["attentions"][0]["layers"][0];
  EXPECT_EQ(layer["query"]["numbers"], layer["value"]["numbers"]);
  EXPECT_NE(layer["query"]["numbers"], layer["key"]["numbers"]);
}

TEST(ExplainDocument, TensorsHoldWhatJsonSays) {
  const TemporaryDirectory directory;
  write_json(small(), directory.path() / "all.json");
  const Json json = read_json(directory.path() / "all.json");
  const Json& weights = json["attentions"][0]["layers"][0]["weights"];
  double sum = 0;
  for (const Json& weight : weights[1][2]) sum += weight.get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
  write_tensors(small(), directory.path() / "all.safetensors");
  const SafetensorsFile file(directory.path() / "all.safetensors");
  const Json named = parse_json(file.metadata().at("explanation"), "the metadata");
  const std::string name = named["attentions"][0]["layers"][0]["weights"]["tensor"];
  EXPECT_EQ(name, "attentions.self.0.weights");
  EXPECT_EQ(file.tensors().at(name).shape, (std::vector<std::int64_t>{2, 3, 3}));
}

TEST(Explain, MemoryBecomesOneKey) {
  ExplainedAttention::Layer layer = small().attentions[0].layers[0];
  ScoreTerms before = layer.scores;
  before.added.push_back({"distance", ops::arange(18, kFloat).view({2, 3, 3}) / 7});
  layer.scores = before;
  layer.weights = ops::softmax(
      ops::matmul(before.query, before.key.transpose(1, 2)) * 0.5 + before.added.back().scores, -1);
  const Tensor all = layer.weights;
  fold_memory(layer, 2);
  EXPECT_EQ(layer.weights.sizes().vec(), (std::vector<std::int64_t>{2, 3, 2}));
  EXPECT_LT((layer.weights.select(2, 0) - all.narrow(2, 0, 2).sum(2)).abs().max().item<float>(), 1e-6);
  Tensor scores =
      ops::matmul(layer.scores.query, layer.scores.key.transpose(1, 2)) * 0.5 + layer.scores.penalty;
  for (const auto& term : layer.scores.added) scores = scores + term.scores;
  EXPECT_LT((ops::softmax(scores, -1) - layer.weights).abs().max().item<float>(), 1e-6);
}

TEST(Explain, RankingKeepsTheSum) {
  const Tensor logits = ops::arange(12, kFloat).view({2, 6});
  const TokenRanking ranking = rank_tokens(logits, 3);
  EXPECT_EQ(ranking.ids[1][0].item<std::int64_t>(), 5);
  EXPECT_EQ(ranking.ids.sizes().vec(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_NEAR(ranking.total[0].item<float>(),
              std::log(1 + M_E + std::exp(2) + std::exp(3) + std::exp(4) + std::exp(5)), 1e-5);
}

TEST(ExplainStill, DrawsEveryViewAndNamesMissingOnes) {
  const Explanation all = small();
  for (const StillView view : {StillView::heads, StillView::model, StillView::neuron}) {
    const std::string svg = draw_still(all, {.view = view});
    EXPECT_TRUE(svg.starts_with("<svg ")) << svg.substr(0, 40);
    EXPECT_EQ(svg.find("</script>"), std::string::npos);
    EXPECT_EQ(svg.find("\u202e"), std::string::npos);
  }
  EXPECT_ERROR("layer 3: expected one of those kept", draw_still(all, {.layer = 3}));
  EXPECT_ERROR("head 7: expected one from 0 to 1", draw_still(all, {.heads = {7}}));
  EXPECT_ERROR("`attention` cross: expected one of", draw_still(all, {.attention = "cross"}));
  EXPECT_ERROR("token 3: expected one from 0 to 2", draw_still(all, {.token = 3}));
}

}  // namespace
}  // namespace attend
