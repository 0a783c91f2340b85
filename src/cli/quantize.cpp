// attend quantize MODEL OUT: stores a model with quantized matrices.
#include <attend/convert.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"
#include "formats/json/json.h"

#include <cstdio>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

void print(const std::vector<MatrixError>& errors, bool json) {
  if (json) {
    Json list = Json::array();
    for (const MatrixError& each : errors) list.push_back({{"names", each.names}, {"error", each.error}});
    fmt::print("{}\n", Json{{"matrices", list}}.dump());
    return;
  }
  for (const MatrixError& each : errors) fmt::print("{:<10.5f}{}\n", each.error, fmt::join(each.names, ","));
}

}  // namespace

int quantize(int argc, char** argv) {
  ModelPath model;
  model.weights = WeightFormat::int8;
  std::string output;
  QuantizeOptions options;
  bool json = false;
  Parser parser("quantize",
                "Stores a model as --weights int8 (the default) or int4 would use it: the same results, a "
                "smaller file, faster loading. Other programs cannot read it.",
                "attend quantize all-MiniLM-L6-v2 MiniLM-int8 --measure texts --keep-above 0.02");
  add_model(parser.app(), model);
  parser.app().add_option("output", output, "The directory to create; optional with --measure");
  CLI::Option* const measure =
      parser.app().add_option("--measure", options.measure,
                              "A file with one text per line; prints how much quantization changes the "
                              "outputs of each matrix on them, worst first");
  parser.app().add_option(
      "--smooth", options.smooth,
      "A file with one text per line; divides channels after a norm that are much larger than others on "
      "these texts by a factor, and multiplies the following matrix by it (SmoothQuant)");
  parser.app().add_flag("--json", json, "Print the measurement as one JSON object")->needs(measure);
  parser.app()
      .add_option("--keep", options.keep, "Matrices to keep in float32, by checkpoint name, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  parser.app()
      .add_option("--keep-above", options.keep_above,
                  "Keep matrices in float32 if their measured error exceeds this")
      ->needs(measure);
  if (const auto status = parser.parse(argc, argv)) return *status;

  if (output.empty() && options.measure.empty())
    fail("expected the directory to create, or --measure and a file");
  options.format = model.weights;
  const Quantized result = attend::quantize(model, output, options);
  if (!options.measure.empty()) print(result.errors, json);
  if (output.empty()) return 0;
  inform("wrote {}", output);
  if (!result.kept.empty()) inform("in float32: {}", fmt::join(result.kept, ", "));
  return 0;
}

}  // namespace attend::cli
