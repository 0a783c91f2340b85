// attend quantize MODEL OUT: a model whose matrices are stored in fewer bits.
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/model_option.h"
#include "cli/verb.h"
#include "models/companions.h"
#include "models/quantized.h"

#include <filesystem>

namespace attend::cli {

int quantize(int argc, char** argv) {
  ModelPath model;
  model.weights = WeightFormat::int8;
  std::string output;
  Parser parser(
      "quantize",
      "Stores a model as --weights int8 (the default) or int4 computes with it: the same results, a "
      "smaller file, and nothing to quantize when it is loaded. Other programs do not read it.",
      "attend quantize all-MiniLM-L6-v2 MiniLM-int8");
  add_model(parser.app(), model);
  parser.app().add_option("output", output, "The directory to make")->required();
  if (const auto status = parser.parse(argc, argv)) return *status;

  if (file_exists(std::filesystem::path(output) / "model.safetensors"))
    fail("{}: there already is a model in it", output);
  if (model.weights != WeightFormat::int8 && model.weights != WeightFormat::int4)
    fail("--weights {}: expected int8 or int4; attend convert writes float32", name(model.weights));
  const ModelDirectory directory(model);
  save_quantized(Model::load(directory, Purpose::inference), output);
  copy_companions(directory.path(), output);
  inform("wrote {}", output);
  return 0;
}

}  // namespace attend::cli
