#include "models/families/summary.h"

#include "base/error.h"

namespace attend {
namespace {

struct Summary {
  HeadInput input;
  bool projects;
  std::int64_t width;  // of the result
  Activation activation;
  double first_dropout, last_dropout;
};

HeadInput read_type(const Fields& config, std::string_view default_type) {
  const std::string type = config.text({"summary_type"}, std::string(default_type));
  if (type == "first") return HeadInput::first_token;
  if (type == "last") return HeadInput::last_column;
  if (type == "mean") return HeadInput::mean;
  if (type == "cls_index") return HeadInput::chosen_token;
  fail("{}: summary_type: expected first, last, mean or cls_index, found {}", config.source(),
       shown(Json(type)));
}

Summary read_summary(const Fields& config, const SummaryDefaults& defaults, std::int64_t labels,
                     std::int64_t width) {
  const auto field = config.json().find("summary_activation");
  const bool none =
      field == config.json().end() ? defaults.activation.empty() : field->is_null() || *field == "";
  const bool projects = config.flag({"summary_use_proj"}, true);
  const bool to_labels = config.flag({"summary_proj_to_labels"}, defaults.to_labels);
  return {.input = read_type(config, defaults.type),
          .projects = projects,
          .width = projects && to_labels ? labels : width,
          .activation =
              none ? Activation::none : read_activation(config, {"summary_activation"}, defaults.activation),
          .first_dropout = read_dropout(config, {"summary_first_dropout"}, defaults.first_dropout),
          .last_dropout = read_dropout(config, {"summary_last_dropout"}, defaults.last_dropout)};
}

}  // namespace

ScoreHeadSpec read_summary_scores(const Fields& config, const SummaryDefaults& defaults, std::int64_t labels,
                                  std::int64_t width) {
  const Summary summary = read_summary(config, defaults, labels, width);
  return {.input = summary.input,
          .dense = {},
          .labels = summary.width,
          .last_matrix = summary.projects,
          .last_activation = summary.activation,
          .problem = {},
          .dropout = summary.first_dropout};
}

ScoreHeadSpec read_summary_before_scores(const Fields& config, const SummaryDefaults& defaults,
                                         std::int64_t labels, std::int64_t width, std::int64_t read) {
  const Summary summary = read_summary(config, defaults, labels, width);
  if (summary.width != read)
    fail(
        "{}: summary_use_proj, summary_proj_to_labels: they give a summary of {} numbers, but the scores "
        "need {}",
        config.source(), summary.width, read);
  return {.input = summary.input,
          .dense = summary.activation,
          .dense_width = summary.width,
          .dense_matrix = summary.projects,
          .problem = {},
          .dense_dropout = summary.first_dropout,
          .dropout = summary.last_dropout};
}

}  // namespace attend
