// attend quantize MODEL OUT: stores a model with quantized matrices.
#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"
#include "models/checkpoint/quantized.h"
#include "models/derived/companions.h"
#include "tasks/quantization/quantization_error.h"
#include "tasks/quantization/smoothing.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>

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

// Checks that each of `names` is a matrix of the model, in one of its checkpoints' spellings.
void check_names(const ModelDirectory& directory, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const WeightFiles checkpoint = directory.weight_files();
  const std::vector<std::string> known = [&] {
    std::vector<std::string> all;
    for (const auto& [name, view] : checkpoint.tensors())
      if (view.shape.size() == 2) all.push_back(name);
    return all;
  }();
  for (const std::string& name : names)
    if (std::ranges::none_of(known, [&](const std::string& each) {
          return each == name || each.ends_with("." + name) || name.ends_with("." + each);
        }))
      fail("--keep {}: the model has no matrix of this name; attend inspect --tensors lists them", name);
}

}  // namespace

int quantize(int argc, char** argv) {
  ModelPath model;
  model.weights = WeightFormat::int8;
  std::string output, measured, smoothed;
  std::vector<std::string> keep;
  double max = std::numeric_limits<double>::infinity();
  bool json = false;
  Parser parser("quantize",
                "Stores a model as --weights int8 (the default) or int4 would use it: the same results, a "
                "smaller file, faster loading. Other programs cannot read it.",
                "attend quantize all-MiniLM-L6-v2 MiniLM-int8 --measure texts --keep-above 0.02");
  add_model(parser.app(), model);
  parser.app().add_option("output", output, "The directory to create; optional with --measure");
  CLI::Option* const measure =
      parser.app().add_option("--measure", measured,
                              "A file with one text per line; prints how much quantization changes the "
                              "outputs of each matrix on them, worst first");
  parser.app().add_option(
      "--smooth", smoothed,
      "A file with one text per line; divides channels after a norm that are much larger than others on "
      "these texts by a factor, and multiplies the following matrix by it (SmoothQuant)");
  parser.app().add_flag("--json", json, "Print the measurement as one JSON object")->needs(measure);
  parser.app()
      .add_option("--keep", keep, "Matrices to keep in float32, by checkpoint name, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  parser.app()
      .add_option("--keep-above", max, "Keep matrices in float32 if their measured error exceeds this")
      ->needs(measure);
  if (const auto status = parser.parse(argc, argv)) return *status;

  if (output.empty() && measured.empty()) fail("expected the directory to create, or --measure and a file");
  if (!output.empty()) expect_no_model(output);
  const WeightFormat format = model.weights;
  if (format != WeightFormat::int8 && format != WeightFormat::int4)
    fail("--weights {}: expected int8 or int4; attend convert writes float32", name(format));
  const ModelDirectory directory(model);
  check_names(directory, keep);
  ModelPath plain = model;
  plain.weights = WeightFormat::float32;
  std::map<std::string, Tensor> factors;
  if (!smoothed.empty()) factors = smoothing_factors(ModelDirectory(plain), smoothed);
  if (!measured.empty()) {
    const auto errors = measure_quantization(ModelDirectory(plain), format, measured, factors);
    print(errors, json);
    for (const MatrixError& each : errors)
      if (each.error > max) keep.insert(keep.end(), each.names.begin(), each.names.end());
  }
  if (output.empty()) return 0;
  save_quantized(PretrainedModel::load(directory, {.weights = format, .keep = keep, .factors = factors}),
                 output);
  copy_companions(directory.path(), output);
  inform("wrote {}", output);
  if (!keep.empty()) inform("in float32: {}", fmt::join(keep, ", "));
  return 0;
}

}  // namespace attend::cli
