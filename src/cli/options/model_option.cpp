#include "cli/options/model_option.h"

#include "base/error.h"

#include <charconv>

namespace attend::cli {

AdapterPath read_adapter(const std::string& given) {
  const std::size_t equals = given.rfind('=');
  if (equals == given.npos || std::filesystem::exists(given)) return {given};
  double share = 0;
  const char* const end = given.data() + given.size();
  const auto [rest, error] = std::from_chars(given.data() + equals + 1, end, share);
  if (error != std::errc() || rest != end)
    throw CLI::ValidationError("--adapter", "expected DIR or DIR=WEIGHT, such as tuned=0.5, found " + given);
  return {given.substr(0, equals), share};
}

void add_adapters(CLI::App& app, std::vector<AdapterPath>& adapters) {
  app.add_option_function<std::vector<std::string>>(
         "--adapter",
         [&adapters](const std::vector<std::string>& all) {
           for (const std::string& each : all) adapters.push_back(read_adapter(each));
         },
         "Directory of an adapter (LoRA, IA3, ...); DIR=WEIGHT multiplies what it adds by the weight. "
         "Several adapters are added up")
      ->allow_extra_args(false);
}

void add_weights(CLI::App& app, ModelPath& model, const char* help) {
  app.add_option_function<std::string>(
         "--weights", [&model](const std::string& format) { model.weights = weight_format(format); }, help)
      ->check(CLI::IsMember({"float32", "float16", "bfloat16", "int8", "int4", "blocks"}));
}

void add_device(CLI::App& app, ModelPath& model) {
  app.add_option("--device", model.device,
                 "Where the model computes: cpu, cuda (the first GPU), cuda:N, or auto (a GPU if there is "
                 "one). Default: "
                 "$ATTEND_DEVICE, else cpu. GPUs need the package attend-torch and a libtorch");
  app.add_option("--engine", model.engine,
                 "On the CPU: attend, or torch, which computes with libtorch as on a GPU. Default: "
                 "$ATTEND_ENGINE, else attend")
      ->check(CLI::IsMember({"attend", "torch"}));
}

void add_model(CLI::App& app, ModelPath& model) {
  app.add_option("model", model.directory,
                 "A model directory, a GGUF file, or an adapter's directory that names its base model")
      ->required();
  add_model_options(app, model);
}

void add_model_options(CLI::App& app, ModelPath& model) {
  add_weights(app, model,
              "Format of the matrices: float32; float16 or bfloat16 (half the memory); int8 (a quarter; "
              "inputs are rounded to 8 bits too); int4 (a seventh); blocks (the integers of a GGUF file as "
              "they are)");
  app.add_flag(
      "--low-memory", model.low_memory,
      "Keep float32 matrices in the mapped file, which processes share, instead of faster copies in memory");
  add_device(app, model);
  add_adapters(app, model.adapters);
}

void add_cache(CLI::App& app, ModelPath& model) {
  app.add_option_function<std::string>(
         "--cache", [&model](const std::string& format) { model.cache = cache_format(format); },
         "Format of the KV cache: float32; bfloat16 (half the memory, faster on prompts); int8 (a quarter of "
         "the memory). Default: bfloat16 with --weights bfloat16, int8, int4 or blocks, else float32")
      ->check(CLI::IsMember({"auto", "float32", "bfloat16", "int8"}));
}

void AdapterOf::add(CLI::App& app) {
  app.add_option("--adapter-of", numbers_,
                 "Index of the adapter for each text, from 0 (0,1,-1); -1: none; one number applies to all "
                 "texts. Default: all adapters together")
      ->delimiter(',')
      ->allow_extra_args(false);  // texts follow
}

void AdapterOf::check(std::size_t texts) const {
  if (numbers_.size() > 1 && numbers_.size() != texts)
    fail("--adapter-of: expected a number for each of {} texts, found {}", texts, numbers_.size());
}

std::optional<std::int64_t> AdapterOf::operator[](std::size_t text) const {
  if (numbers_.empty()) return {};
  if (numbers_.size() > 1 && text >= numbers_.size())
    fail("--adapter-of: expected a number for each text, found {}, and more texts than that",
         numbers_.size());
  return numbers_[numbers_.size() == 1 ? 0 : text];
}

}  // namespace attend::cli
