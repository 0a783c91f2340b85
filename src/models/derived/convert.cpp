// Models in other forms (attend/convert.h), all but quantized ones: tasks/quantization/quantize.cpp.
#include <attend/convert.h>

#include "base/directory.h"
#include "base/error.h"
#include "models/adapters/adapter.h"
#include "models/checkpoint/quantized.h"
#include "models/derived/companions.h"
#include "models/derived/gguf_export.h"
#include "models/derived/merge.h"
#include "models/weights/tensors.h"

#include <map>

namespace attend {
namespace {

PretrainedModel load_to_convert(const ModelDirectory& directory, const ConvertOptions& options) {
  LoadOptions load{.purpose = Purpose::training};
  load.architecture = options.architecture;
  FreshHead head;
  head.seed = options.seed;
  if (!options.labels.empty()) head.labels = Labels{options.labels, {}};
  if (!options.architecture.empty() || head.labels) load.fresh = head;
  return PretrainedModel::load(directory, load);
}

// The type to write: by its name, or that of the model's file.
ScalarType type_to_write(const std::string& name, const ModelDirectory& directory) {
  const std::map<std::string, ScalarType> types = {
      {"float32", kFloat}, {"float16", kHalf}, {"bfloat16", kBFloat16}};
  if (const auto named = types.find(name); named != types.end()) return named->second;
  if (!name.empty()) fail("type {}: expected float32, float16 or bfloat16", name);
  const WeightFiles checkpoint = directory.weight_files();
  for (const auto& [tensor, view] : checkpoint.tensors())
    if (is_floating(view.type)) return map_tensor(view, checkpoint.owner_of(tensor)).type();
  return kFloat;
}

void write(const PretrainedModel& model, const ModelDirectory& directory, ScalarType type,
           const std::filesystem::path& output) {
  model.save(output, type);
  copy_companions(directory.path(), output);
}

}  // namespace

void v1::convert(const ModelPath& model, const std::filesystem::path& output, const ConvertOptions& options) {
  if (model.weights != WeightFormat::float32)
    fail("`weights` {}: convert writes float32; quantize writes int8 and int4", name(model.weights));
  const bool as_gguf = output.extension() == ".gguf";
  if (as_gguf && std::filesystem::exists(output)) fail("{}: there is one already", output.string());
  if (!as_gguf) expect_no_model(output);
  const ModelDirectory directory(model);
  if (const WeightFormat stored = stored_format(directory.config()); stored != WeightFormat::float32)
    fail(
        "{}: the weights are stored as {} and cannot become float32 again; convert the original model "
        "instead",
        directory.path().string(), name(stored));
  PretrainedModel loaded = load_to_convert(directory, options);
  merge_adapters(loaded);
  if (as_gguf)
    write_gguf(loaded, directory.path(), options.gguf_type, output);
  else
    write(loaded, directory, kFloat, output);
}

RoundingCost v1::merge_adapters(const ModelPath& path, const std::filesystem::path& output,
                                const std::string& type) {
  expect_no_model(output);
  const ModelDirectory directory(path);
  PretrainedModel model = PretrainedModel::load(directory, Purpose::training);
  const ScalarType written = type_to_write(type, directory);
  const RoundingCost cost = merge_adapters(model, written);
  write(model, directory, written, output);
  return cost;
}

void v1::unmerge_adapters(const ModelPath& path, const std::filesystem::path& output,
                          const std::string& type) {
  expect_no_model(output);
  const ModelDirectory directory(path);
  PretrainedModel model = PretrainedModel::load(directory, Purpose::training);
  for (const auto& adapter : model.adapters())
    if (adapter->replaces())
      fail(
          "{}: cannot be unmerged, because its whole modules and biases replaced the model's, which are lost",
          adapter->source());
  unmerge_adapters(model);
  write(model, directory, type_to_write(type, directory), output);
}

}  // namespace attend
