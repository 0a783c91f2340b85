// attend forward MODEL --inputs F --outputs F: tensors in, tensors out.
#include "models/forward.h"

#include "cli/model_option.h"
#include "cli/verb.h"
#include "models/tensors.h"

namespace attend::cli {

int forward(int argc, char** argv) {
  ModelPath model;
  std::string inputs, outputs;
  ForwardOptions options;
  Parser parser("forward",
                "Runs a model on tensors. Inputs are named as the arguments of the original's forward "
                "(input_ids, attention_mask, labels, ...), outputs as the fields of what it returns.",
                "attend forward bert-base --inputs in.safetensors --outputs out.safetensors --attentions");
  add_model(parser.app(), model);
  parser.app().add_option("--inputs", inputs, "A safetensors file")->required();
  parser.app().add_option("--outputs", outputs, "The safetensors file to write")->required();
  parser.app().add_flag("--hidden-states", options.hidden_states, "Also every layer's result");
  parser.app().add_flag("--attentions", options.attentions, "Also every layer's attention weights");
  parser.app().add_flag("--gradients", options.gradients, "Also the gradient of the loss for every tensor");
  if (const auto status = parser.parse(argc, argv)) return *status;

  const ModelDirectory directory(model);
  const PretrainedModel loaded =
      PretrainedModel::load(directory, options.gradients ? Purpose::training : Purpose::inference);
  const auto modules = read_sentence_directory(directory.path());
  std::optional<SentenceModules> sentence;
  const Transformer network = loaded.network();
  if (modules && !network->is_encoder_decoder() && !network->reads_images()) {
    sentence.emplace(modules->modules,
                     (network->decoder ? network->decoder : network->encoder)->spec().width());
    options.sentence = &*sentence;
  }
  const auto given = read_tensors(inputs);
  write_tensors(outputs, naming_file(inputs, [&] { return run_forward(loaded, given, options); }));
  return 0;
}

}  // namespace attend::cli
