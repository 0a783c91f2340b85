// attend convert MODEL OUT: writes a model directory in transformers' format.
#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"
#include "models/checkpoint/quantized.h"
#include "models/derived/companions.h"
#include "models/derived/gguf_export.h"
#include "models/derived/merge.h"

#include <filesystem>

namespace attend::cli {

int convert(int argc, char** argv) {
  ModelPath model;
  std::string output, type;
  LoadOptions options{.purpose = Purpose::training};
  FreshHead head;
  Labels labels;
  Parser parser("convert",
                "Rewrites a model as transformers would: from shards, pytorch_model.bin, float16 or old "
                "tensor names to one model.safetensors in float32. With an output that ends with .gguf it "
                "writes a decoder such as Llama as a GGUF file, which llama.cpp loads.",
                "attend convert gpt2 gpt2-tuned --adapter gpt2-lora");
  add_model(parser.app(), model);
  parser.app().add_option("output", output, "The directory to create, or a file *.gguf")->required();
  parser.app()
      .add_option("--type", type, "Type of the matrices in a GGUF file; default: f32")
      ->check(CLI::IsMember({"f32", "f16", "q8_0", "q4_0", "q4_k_m"}));
  parser.app().add_option(
      "--architecture", options.architecture,
      "Another architecture of the family; missing tensors of its head are initialized from --seed");
  parser.app()
      .add_option("--labels", labels.names, "Label names of the classifier, comma-separated")
      ->delimiter(',');
  parser.app().add_option("--seed", head.seed, "Seed of a new head's weights");
  if (const auto status = parser.parse(argc, argv)) return *status;

  if (model.weights != WeightFormat::float32)
    fail("--weights {}: convert writes float32; attend quantize writes int8 and int4", name(model.weights));
  const bool as_gguf = std::filesystem::path(output).extension() == ".gguf";
  if (!as_gguf && !type.empty())
    fail("--type: it is for GGUF files; name the output *.gguf, found {}", output);
  if (as_gguf && std::filesystem::exists(output)) fail("{}: there is one already", output);
  if (!as_gguf) expect_no_model(output);
  if (!labels.names.empty()) head.labels = labels;
  if (!options.architecture.empty() || head.labels) options.fresh = head;
  const ModelDirectory directory(model);
  if (const WeightFormat stored = stored_format(directory.config()); stored != WeightFormat::float32)
    fail(
        "{}: the weights are stored as {} and cannot become float32 again; convert the original model "
        "instead",
        directory.path().string(), name(stored));
  PretrainedModel loaded = PretrainedModel::load(directory, options);
  merge_adapters(loaded);
  if (as_gguf) {
    write_gguf(loaded, directory.path(), type.empty() ? "f32" : type, output);
  } else {
    loaded.save(output);
    copy_companions(directory.path(), output);
  }
  inform("wrote {}", output);
  return 0;
}

}  // namespace attend::cli
