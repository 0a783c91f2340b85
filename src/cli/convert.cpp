// attend convert MODEL OUT: a model directory as transformers writes it.
#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/model_option.h"
#include "cli/verb.h"
#include "models/companions.h"
#include "models/gguf_export.h"
#include "models/merge.h"
#include "models/quantized.h"

#include <filesystem>

namespace attend::cli {

int convert(int argc, char** argv) {
  ModelPath model;
  std::string output, type;
  LoadOptions options{.purpose = Purpose::training};
  FreshHead head;
  Labels labels;
  Parser parser(
      "convert",
      "Writes a model anew: whatever its weights lie in (shards, pytorch_model.bin, float16, names of "
      "long ago), they become one model.safetensors of float32 as transformers writes it. Where the output "
      "ends with .gguf, a decoder such as Llama becomes a GGUF file, which llama.cpp reads.",
      "attend convert gpt2 gpt2-tuned --adapter gpt2-lora");
  add_model(parser.app(), model);
  parser.app().add_option("output", output, "The directory to make, or a file *.gguf")->required();
  parser.app()
      .add_option("--type", type, "Of the matrices in a GGUF file; f32 where nothing is said")
      ->check(CLI::IsMember({"f32", "f16", "q8_0", "q4_0"}));
  parser.app().add_option("--architecture", options.architecture,
                          "Another one of the family: what the model lacks of its head is drawn from --seed");
  parser.app()
      .add_option("--labels", labels.names, "What the scores of a classifier stand for, with commas between")
      ->delimiter(',');
  parser.app().add_option("--seed", head.seed, "Of a new head's weights");
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
        "{}: its weights are stored as {}, and float32 weights cannot be made of these: convert the model "
        "that "
        "was quantized",
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
