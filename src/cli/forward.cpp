// attend forward MODEL --inputs F --outputs F: tensors in, tensors out.
#include "models/forward.h"

#include "cli/verb.h"
#include "models/adapter.h"
#include "models/tensors.h"

namespace attend::cli {

int forward(int argc, char** argv) {
  std::string model, inputs, outputs, adapter;
  ForwardOptions options;
  Parser parser("forward",
                "Runs a model on tensors. Inputs are named as the arguments of the original's forward "
                "(input_ids, attention_mask, labels, ...), outputs as the fields of what it returns.",
                "attend forward bert-base --inputs in.safetensors --outputs out.safetensors --attentions");
  parser.app().add_option("model", model, "The model directory")->required();
  parser.app().add_option("--inputs", inputs, "A safetensors file")->required();
  parser.app().add_option("--outputs", outputs, "The safetensors file to write")->required();
  parser.app().add_option("--adapter", adapter, "A directory with a LoRA adapter, merged into the weights");
  parser.app().add_flag("--hidden-states", options.hidden_states, "Also every layer's result");
  parser.app().add_flag("--attentions", options.attentions, "Also every layer's attention weights");
  parser.app().add_flag("--gradients", options.gradients, "Also the gradient of the loss for every tensor");
  if (const auto status = parser.parse(argc, argv)) return *status;

  const auto merged = adapter.empty() ? std::nullopt : std::optional<Adapter>(std::in_place, adapter);
  const Model loaded = Model::load(ModelDirectory(model),
                                   {.purpose = options.gradients ? Purpose::training : Purpose::inference,
                                    .adapter = merged ? &*merged : nullptr});
  const auto given = read_tensors(inputs);
  write_tensors(outputs, naming_file(inputs, [&] { return run_forward(loaded, given, options); }));
  return 0;
}

}  // namespace attend::cli
