#include "models/family.h"

#include "base/error.h"

#include <map>

namespace attend {

Activation read_activation(const Fields& config, Fields::Names names, std::string_view otherwise) {
  static const std::map<std::string, Activation, std::less<>> known = {
      {"relu", Activation::relu},
      {"gelu", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"silu", Activation::silu},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"swish", Activation::silu},
      {"tanh", Activation::tanh},
      {"linear", Activation::none},
  };
  const std::string name = config.text(names, std::string(otherwise));
  const auto found = known.find(name);
  if (found == known.end())
    fail(
        "{}: {}: expected one of gelu, gelu_new, gelu_pytorch_tanh, linear, relu, silu, swish, tanh, found "
        "\"{}\"",
        config.source(), *names.begin(), name);
  return found->second;
}

std::int64_t read_head_size(const Fields& config, std::int64_t width, std::int64_t heads) {
  if (width % heads != 0)
    fail("{}: the hidden size {} cannot be divided among {} attention heads", config.source(), width, heads);
  return width / heads;
}

double read_dropout(const Fields& config, Fields::Names names, double otherwise) {
  return config.number(names, otherwise, 0, 0.999);
}

ClassificationHeadSpec read_classification_head(const Fields& config, double dropout) {
  ClassificationHeadSpec head;
  head.dropout = dropout;
  const auto names = config.json().find("id2label");
  const bool has_names = names != config.json().end() && names->is_object() && !names->empty();
  head.labels =
      has_names ? static_cast<std::int64_t>(names->size()) : config.integer({"num_labels"}, 2, 1, 1 << 24);
  const std::string problem = config.text({"problem_type"}, "");
  if (problem == "regression")
    head.problem = ProblemType::regression;
  else if (problem == "single_label_classification")
    head.problem = ProblemType::single_label;
  else if (problem == "multi_label_classification")
    head.problem = ProblemType::multi_label;
  else if (!problem.empty())
    fail(
        "{}: problem_type: expected regression, single_label_classification or multi_label_classification, "
        "found \"{}\"",
        config.source(), problem);
  return head;
}

}  // namespace attend
