#include "models/checkpoint/quantized.h"

#include "base/directory.h"
#include "base/file.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_layout.h"
#include "sources/prequantized/foreign_weights.h"

namespace attend {
namespace {

constexpr const char* kMethod = "attend";
constexpr const char* kRotation = "hadamard-16";  // kernels/int8/int8.h

}  // namespace

WeightFormat stored_format(const Fields& config) {
  const auto found = config.json().find("quantization_config");
  if (found == config.json().end() || found->is_null() || is_foreign(config)) return WeightFormat::float32;
  const auto field = [&](const char* name) {
    return found->is_object() && found->contains(name) && found->at(name).is_string()
               ? found->at(name).get<std::string>()
               : std::string();
  };
  const std::string method = field("quant_method");
  if (method != kMethod)
    fail(
        "{}: quantization_config: quant_method: expected \"{}\", bitsandbytes, gptq, awq or "
        "compressed-tensors, found \"{}\"; use the model's directory with floating-point weights, and "
        "quantize it with `weights`",
        config.source(), kMethod, method);
  const std::string weights = field("weights");
  if (weights != "int8" && weights != "int4")
    fail("{}: quantization_config: weights: expected \"int8\" or \"int4\", found \"{}\"", config.source(),
         weights);
  if (const std::string rotation = field("rotation"); rotation != kRotation)
    fail("{}: quantization_config: rotation: expected \"{}\", found \"{}\"", config.source(), kRotation,
         rotation);
  return weight_format(weights);
}

std::vector<std::string> stored_exceptions(const Fields& config) {
  const auto found = config.json().find("quantization_config");
  if (found == config.json().end() || !found->is_object()) return {};
  return Fields(*found, config.source() + ": quantization_config").texts({"float32"});
}

std::vector<std::string> stored_parts(WeightFormat format) {
  if (format == WeightFormat::int4) return {"", "_step", "_start", "_scale"};
  return {"", "_scale"};
}

void save_quantized(const PretrainedModel& model, const std::filesystem::path& directory) {
  const WeightFormat format = model.weights();
  if (format != WeightFormat::int8 && format != WeightFormat::int4)
    fail("weights as {}: expected int8 or int4", name(format));
  if (!model.adapters().empty())
    fail("{}: the model has an adapter; merge it first (attend adapter merge)", model.source());
  std::map<std::string, Tensor> tensors;
  Json kept = Json::array();
  for (const auto& item : model.network()->named_parameters()) {
    const WeightSource source = model.source_of(item.key());
    const auto add = [&](const Tensor& whole, const std::string& part) {
      for (std::size_t i = 0; i < source.names.size(); ++i) {
        const auto [first, count] = source.rows_of(i, whole.size(0));
        tensors[model.saved_name(source.names[i]) + part] =
            to_checkpoint(whole.narrow(0, first, count), source);
      }
    };
    const PackedMatrix* const matrix = model.network()->packed(item.key());
    if (matrix != nullptr)
      for (const auto& [part, tensor] : matrix->stored()) add(tensor, part);
    else
      add(item.value().detach(), "");
    if (matrix != nullptr && matrix->format() == format) continue;
    if (model.network()->is_packable(item.key(), format))
      for (const std::string& name : source.names) kept.push_back(model.saved_name(name));
    if (!source.shape.empty())
      for (const std::string& each : source.names) {
        Tensor& tensor = tensors.at(model.saved_name(each));
        tensor = tensor.reshape(source.shape);
      }
  }
  make_directories(directory);
  model.save_config(directory);
  Json config = read_json(directory / "config.json");
  config["quantization_config"] = {
      {"quant_method", kMethod}, {"weights", name(format)}, {"rotation", kRotation}};
  if (!kept.empty()) config["quantization_config"]["float32"] = kept;
  write_file_atomically(directory / "config.json", config.dump(2) + "\n");
  write_tensors(directory / "model.safetensors", tensors);
}

}  // namespace attend
