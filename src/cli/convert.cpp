// attend convert MODEL OUT: writes a model directory in transformers' format, or a GGUF file.
#include <attend/convert.h>

#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"

namespace attend::cli {

int convert(int argc, char** argv) {
  ModelPath model;
  std::string output, type;
  ConvertOptions options;
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
      .add_option("--labels", options.labels, "Label names of the classifier, comma-separated")
      ->delimiter(',');
  parser.app().add_option("--seed", options.seed, "Seed of a new head's weights");
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (!type.empty() && std::filesystem::path(output).extension() != ".gguf")
    fail("--type: it is for GGUF files; name the output *.gguf, found {}", output);
  if (!type.empty()) options.gguf_type = type;
  attend::convert(model, output, options);
  inform("wrote {}", output);
  return 0;
}

}  // namespace attend::cli
