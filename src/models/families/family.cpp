#include "models/families/family.h"

#include "base/error.h"

#include <cmath>
#include <map>
#include <optional>

#include <fmt/ranges.h>

namespace attend {
namespace {

std::optional<ProblemType> read_problem_type(const Fields& config) {
  const std::string problem = config.text({"problem_type"}, "");
  if (problem.empty()) return {};
  if (problem == "regression") return ProblemType::regression;
  if (problem == "single_label_classification") return ProblemType::single_label;
  if (problem == "multi_label_classification") return ProblemType::multi_label;
  fail(
      "{}: problem_type: expected regression, single_label_classification or multi_label_classification, "
      "found \"{}\"",
      config.source(), problem);
}

}  // namespace

Fields with_usual_names(const Fields& config,
                        std::initializer_list<std::pair<const char*, const char*>> names) {
  Json fields = config.json();
  for (const auto& [own, usual] : names)
    if (const auto found = config.json().find(own); found != config.json().end() && !found->is_null())
      fields[usual] = *found;
  return {fields, config.source()};
}

Activation read_activation(const Fields& config, Fields::Names names, std::string_view otherwise) {
  static const std::map<std::string, Activation, std::less<>> known = {
      {"relu", Activation::relu},
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python_tanh", Activation::gelu_tanh},
      {"gelu_10", Activation::clipped_gelu},
      {"quick_gelu", Activation::quick_gelu},
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"tanh", Activation::tanh},
      {"sigmoid", Activation::sigmoid},
      {"mish", Activation::mish},
      {"leaky_relu", Activation::leaky_relu},
      {"relu6", Activation::relu6},
      {"relu2", Activation::squared_relu},
      {"laplace", Activation::laplace},
      {"linear", Activation::none},
  };
  for (const std::string_view each : names)
    if (const auto field = config.json().find(std::string(each));
        field != config.json().end() && field->is_null())
      fail("{}: {}: expected the name of an activation, found null", config.source(), each);
  const std::string name = config.text(names, std::string(otherwise));
  const auto found = known.find(name);
  if (found == known.end()) {
    std::vector<std::string> all;
    for (const auto& [each, activation] : known) all.push_back(each);
    fail("{}: {}: expected one of {}, found \"{}\"", config.source(), *names.begin(), fmt::join(all, ", "),
         name);
  }
  return found->second;
}

AttentionSpec read_attention(const Fields& config, Fields::Names names, std::int64_t otherwise,
                             std::int64_t width) {
  const std::int64_t heads = config.integer(names, otherwise);
  if (width % heads != 0)
    fail("{}: {}: the hidden size {} cannot be divided among {} attention heads", config.source(),
         fmt::join(names, " or "), width, heads);
  const std::int64_t size = width / heads;
  return {.heads = heads, .head_size = size, .scale = 1 / std::sqrt(static_cast<double>(size))};
}

double read_dropout(const Fields& config, Fields::Names names, double otherwise) {
  return config.number(names, otherwise, 0, 0.999);
}

std::int64_t read_label_count(const Fields& config) {
  const auto names = config.json().find("id2label");
  const bool has_names = names != config.json().end() && names->is_object() && !names->empty();
  return has_names ? static_cast<std::int64_t>(names->size()) : config.integer({"num_labels"}, 2, 1, 1 << 24);
}

std::optional<ScoreHeadSpec> read_score_head(const Fields& config, std::string_view architecture,
                                             const ScoreHeadSpec& sentence) {
  ScoreHeadSpec head = sentence;
  if (architecture.ends_with("ForMultipleChoice")) {
    head.kind = ScoreKind::multiple_choice;
    head.labels = 1;
    return head;
  }
  if (architecture.ends_with("ForSequenceClassification")) {
    head.kind = ScoreKind::sequence_classification;
    head.labels = read_label_count(config);
    head.problem = read_problem_type(config);
    return head;
  }
  head = {.input = HeadInput::every_token, .dense = {}, .problem = {}, .dropout = sentence.dropout};
  if (architecture.ends_with("ForTokenClassification")) {
    head.kind = ScoreKind::token_classification;
    head.labels = read_label_count(config);
    return head;
  }
  if (architecture.ends_with("ForQuestionAnswering") ||
      architecture.ends_with("ForQuestionAnsweringSimple")) {
    head.kind = ScoreKind::question_answering;
    head.dropout = 0;
    return head;
  }
  return {};
}

SpanSearchSpec read_span_search(const Fields& config, const NormSpec& norm) {
  return {.starts = config.integer({"start_n_top"}, 5, 1, 1 << 16),
          .ends = config.integer({"end_n_top"}, 5, 1, 1 << 16),
          .norm = norm};
}

std::vector<WeightName> span_search_weights(const std::string& prefix) {
  return {
      {prefix + "start_logits.dense.{weight|bias}", "span_search.start.{weight|bias}"},
      {prefix + "end_logits.dense_0.{weight|bias}", "span_search.end_in.{weight|bias}"},
      {prefix + "end_logits.LayerNorm.{weight|bias}", "span_search.end_norm.{weight|bias}"},
      {prefix + "end_logits.dense_1.{weight|bias}", "span_search.end_out.{weight|bias}"},
      {prefix + "answer_class.dense_0.{weight|bias}", "span_search.absent_in.{weight|bias}"},
      {prefix + "answer_class.dense_1.weight", "span_search.absent_out.weight"},
  };
}

WeightName score_weights(const ModelSpec& model) {
  const bool spans = model.score_head && model.score_head->kind == ScoreKind::question_answering;
  return {spans ? "qa_outputs.{weight|bias}" : "classifier.{weight|bias}", "score_head.out.{weight|bias}"};
}

}  // namespace attend
