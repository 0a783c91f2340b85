#include "explain/document.h"

#include "base/file.h"
#include "explain/units.h"
#include "models/weights/tensors.h"

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
  if (token.word >= 0) {
    json["word"] = token.word;
    json["sentence"] = token.sentence;
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

// How often each key is counted; 0 for a hidden key. [Lq, Lk] bytes.
Tensor count_keys(const ScoreTerms& formed) {
  const Tensor seen = formed.penalty.gt(-1e29).to(kByte);
  return formed.copies.defined() ? seen * formed.copies.to(kByte) : seen;
}

Json describe(const HeadStatistics& statistics) {
  Json json{
      {"entropy", statistics.entropy}, {"first", statistics.first}, {"separator", statistics.separator}};
  if (!statistics.distance.empty()) {
    json["distance"] = statistics.distance;
    json["itself"] = statistics.itself;
    json["before"] = statistics.before;
  }
  return json;
}

Json describe(const ExplainedAttention::Layer& layer, const std::string& name, const PutTensor& put) {
  const std::string prefix = fmt::format("attentions.{}.{}.", name, layer.number);
  Json json{{"number", layer.number},
            {"weights", put(prefix + "weights", layer.weights, NumberUse::weights)},
            {"statistics", describe(layer.statistics)}};
  const ScoreTerms& formed = layer.scores;
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
  return {{"ids", put(name + ".ids", ranking.ids.to(kInt), NumberUse::whole)},
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

Json describe(const Faithfulness& faithfulness) {
  Json json{{"comprehensiveness", faithfulness.comprehensiveness}, {"sufficiency", faithfulness.sufficiency}};
  for (const auto& [taken, certainty] : faithfulness.curve) {
    json["taken"].push_back(taken);
    json["certainty"].push_back(certainty);
  }
  return json;
}

// Scores by token, and their sums by word and by sentence if the side has them.
Json describe(const Attribution& attribution, const std::vector<ExplainedSide>& sides) {
  Json json{{"method", attribution.method}, {"sides", Json::array()}};
  for (std::size_t side = 0; side < attribution.scores.size(); ++side) {
    Json scores{{"side", side}, {"scores", attribution.scores[side]}};
    if (const auto words = sum_by_word(sides[side], attribution.scores[side]); !words.empty()) {
      scores["words"] = words;
      scores["sentences"] = sum_by_sentence(sides[side], attribution.scores[side]);
    }
    json["sides"].push_back(std::move(scores));
  }
  if (const auto& complete = attribution.completeness)
    json["completeness"] = {{"score", complete->score},
                            {"baseline", complete->baseline},
                            {"sum", complete->sum},
                            {"gap", complete->gap()}};
  if (attribution.faithfulness) json["faithfulness"] = describe(*attribution.faithfulness);
  return json;
}

Json describe(const AttributedResult& result, const std::vector<ExplainedSide>& sides) {
  Json json{{"label", result.label},
            {"toward", result.toward},
            {"toward_id", result.toward_id},
            {"side", result.side},
            {"score", result.score},
            {"certainty", result.certainty},
            {"probability", result.has_probability},
            {"baseline", result.baseline},
            {"methods", Json::array()}};
  if (result.instead_of_id >= 0) {
    json["instead_of"] = result.instead_of;
    json["instead_of_id"] = result.instead_of_id;
  }
  if (result.place >= 0) json["place"] = result.place;
  if (result.chance) json["chance"] = describe(*result.chance);
  for (const Attribution& method : result.methods) json["methods"].push_back(describe(method, sides));
  return json;
}

Json describe(const Ablation& ablation) {
  Json json{{"task", ablation.task}, {"loss", ablation.loss}, {"layers", Json::array()}};
  if (!ablation.figure.empty()) {
    json["figure"] = ablation.figure;
    json["value"] = ablation.value;
  }
  for (const auto& layer : ablation.layers) {
    Json one{{"attention", layer.attention}, {"number", layer.number}, {"loss", layer.loss}};
    if (!layer.value.empty()) one["value"] = layer.value;
    json["layers"].push_back(std::move(one));
  }
  return json;
}

// Nested lists of numbers in JSON's form.
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
  const Tensor row = tensor.to(kFloat).contiguous();
  const float* first = row.const_data<float>();
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
  for (const AttributedResult& result : explanation.attributions)
    json["attributions"].push_back(describe(result, explanation.sides));
  if (explanation.ablation) json["ablation"] = describe(*explanation.ablation);
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

Json as_json(const Explanation& explanation) {
  return describe(explanation,
                  [](const std::string&, const Tensor& tensor, NumberUse) { return as_rows(tensor); });
}

void write_json(const Explanation& explanation, const std::filesystem::path& path) {
  write_file_atomically(path, as_json(explanation).dump() + "\n");
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
