#include "explain/document.h"

#include "base/file.h"
#include "models/tensors.h"

#include <fmt/format.h>

namespace attend {
namespace {

Json describe(const ExplainedToken& token) {
  Json json{{"text", token.text}, {"piece", token.piece}, {"id", token.id}, {"segment", token.segment}};
  if (token.special) json["special"] = true;
  if (token.continues) json["continues"] = true;
  if (token.parts > 1) {
    json["part"] = token.part;
    json["parts"] = token.parts;
  }
  return json;
}

Json describe(const std::vector<ExplainedToken>& tokens) {
  Json all = Json::array();
  for (const ExplainedToken& token : tokens) all.push_back(describe(token));
  return all;
}

Json describe(const ExplainedSide& side, const PutTensor& put) {
  Json json{{"name", side.name}, {"texts", side.texts}, {"tokens", describe(side.tokens)}};
  if (side.picture)
    json["picture"] = {
        {"rows", side.picture->rows},
        {"columns", side.picture->columns},
        {"width", side.picture->width},
        {"height", side.picture->height},
        {"pixels", put(fmt::format("{}.pixels", side.name), side.picture->pixels, NumberUse::whole)}};
  for (const auto& [name, rows] : side.embedded)
    json["embedded"].push_back(
        {{"name", name},
         {"numbers", put(fmt::format("{}.embedded.{}", side.name, name), rows, NumberUse::states)}});
  for (std::size_t i = 0; i < side.hidden.size(); ++i)
    json["hidden"].push_back(
        put(fmt::format("{}.hidden.{}", side.name, i), side.hidden[i], NumberUse::states));
  return json;
}

// How often each key is counted: 0 where it is hidden. [Lq, Lk] bytes.
Tensor count_keys(const FormedScores& formed) {
  const Tensor seen = formed.penalty.gt(-1e29).to(at::kByte);
  return formed.copies.defined() ? seen * formed.copies.to(at::kByte) : seen;
}

Json describe(const ExplainedAttention::Layer& layer, const std::string& name, const PutTensor& put) {
  const std::string prefix = fmt::format("attentions.{}.{}.", name, layer.number);
  Json json{{"number", layer.number},
            {"weights", put(prefix + "weights", layer.weights, NumberUse::weights)}};
  const FormedScores& formed = layer.scores;
  if (!formed.query.defined()) return json;
  json["scale"] = formed.scale;
  json["query"] = put(prefix + "query", formed.query, NumberUse::numbers);
  json["key"] = put(prefix + "key", formed.key, NumberUse::numbers);
  json["value"] = put(prefix + "value", formed.value, NumberUse::values);
  json["copies"] = put(prefix + "copies", count_keys(formed), NumberUse::whole);
  json["added"] = Json::array();
  for (const auto& term : formed.added)
    json["added"].push_back(
        {{"name", term.name},
         {"scores", put(prefix + "added." + std::string(term.name), term.scores, NumberUse::added)}});
  return json;
}

Json describe(const ExplainedAttention& attention, const PutTensor& put) {
  Json json{{"name", attention.name},
            {"queries", attention.queries},
            {"keys", attention.keys},
            {"causal", attention.causal},
            {"words", attention.family},
            {"memory", attention.memory},
            {"all_layers", attention.all_layers}};
  json["layers"] = Json::array();
  for (const auto& layer : attention.layers) json["layers"].push_back(describe(layer, attention.name, put));
  return json;
}

Json describe(const TokenRanking& ranking, const std::string& name, const PutTensor& put) {
  return {{"ids", put(name + ".ids", ranking.ids.to(at::kInt), NumberUse::whole)},
          {"logits", put(name + ".logits", ranking.logits, NumberUse::numbers)},
          {"total", put(name + ".total", ranking.total, NumberUse::numbers)}};
}

Json describe(const ExplainedPredictions& predictions, const PutTensor& put) {
  Json json{{"side", predictions.side},
            {"next", predictions.next},
            {"size", predictions.vocabulary},
            {"last", describe(predictions.last, "predictions", put)}};
  for (std::size_t i = 0; i < predictions.lens.size(); ++i)
    json["lens"].push_back(describe(predictions.lens[i], fmt::format("lens.{}", i), put));
  return json;
}

// Nested lists; a number as JSON knows it.
Json as_lists(const Tensor& tensor) {
  if (tensor.dim() > 0) {
    Json list = Json::array();
    for (const Tensor& part : tensor.unbind(0)) list.push_back(as_lists(part));
    return list;
  }
  if (!tensor.is_floating_point()) return tensor.item<std::int64_t>();
  return tensor.item<float>();
}

Json as_rows(const Tensor& tensor) {
  if (tensor.dim() != 1 || !tensor.is_floating_point()) {
    if (tensor.dim() <= 1) return as_lists(tensor);
    Json list = Json::array();
    for (const Tensor& part : tensor.unbind(0)) list.push_back(as_rows(part));
    return list;
  }
  const Tensor row = tensor.to(at::kFloat).contiguous();
  const float* first = row.const_data_ptr<float>();
  return std::vector<float>(first, first + row.numel());
}

}  // namespace

Json describe(const Explanation& explanation, const PutTensor& put) {
  Json json{{"format", "attend explanation 1"},
            {"model", explanation.model},
            {"family", explanation.family},
            {"architecture", explanation.architecture}};
  json["sides"] = Json::array();
  for (const ExplainedSide& side : explanation.sides) json["sides"].push_back(describe(side, put));
  json["attentions"] = Json::array();
  for (const auto& attention : explanation.attentions) json["attentions"].push_back(describe(attention, put));
  if (explanation.predictions) json["predictions"] = describe(*explanation.predictions, put);
  for (const auto& [label, logit] : explanation.labels)
    json["labels"].push_back({{"label", label}, {"logit", logit}});
  for (const ExplainedBeam& beam : explanation.beams)
    json["beams"].push_back({{"tokens", describe(beam.tokens)},
                             {"log_probabilities", beam.log_probabilities},
                             {"score", beam.score}});
  for (const Attribution& attribution : explanation.attributions)
    json["attributions"].push_back({{"method", attribution.method},
                                    {"target", attribution.target},
                                    {"side", attribution.side},
                                    {"scores", attribution.scores}});
  if (explanation.other) {
    json["difference"] = explanation.difference;
    json["other"] =
        describe(*explanation.other, [&](const std::string& name, const Tensor& tensor, NumberUse use) {
          return put("other." + name, tensor, use);
        });
  }
  json["vocabulary"] = Json::object();
  for (const auto& [id, text] : explanation.vocabulary) json["vocabulary"][std::to_string(id)] = text;
  return json;
}

void write_json(const Explanation& explanation, const std::filesystem::path& path) {
  const Json json = describe(
      explanation, [](const std::string&, const Tensor& tensor, NumberUse) { return as_rows(tensor); });
  write_file_atomically(path, json.dump() + "\n");
}

void write_tensors(const Explanation& explanation, const std::filesystem::path& path) {
  std::map<std::string, Tensor> tensors;
  const Json json =
      describe(explanation, [&](const std::string& name, const Tensor& tensor, NumberUse) -> Json {
        tensors[name] = tensor.contiguous();
        return {{"tensor", name}};
      });
  write_tensors(path, tensors, {{"explanation", json.dump()}});
}

}  // namespace attend
