// attend forward MODEL --inputs F --outputs F: tensors in, tensors out.
#include "models/padded/forward.h"

#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"
#include "models/families/head.h"
#include "models/weights/tensors.h"

namespace attend::cli {
namespace {

// A body may lack a pooler that its file does not contain. Code that reads outputs by name should know this.
void remark_on_missing_pooler(const PretrainedModel& model, const ModelDirectory& directory) {
  if (!model.config().flag({"add_pooling_layer"}, true) &&
      directory.config().flag({"add_pooling_layer"}, true))
    inform("{}: the file has no pooler, so there is no pooler_output", directory.path().string());
}

}  // namespace

int forward(int argc, char** argv) {
  ModelPath model;
  std::string inputs, outputs;
  ForwardOptions options;
  Parser parser("forward",
                "Runs a model on tensors. Inputs have the names of the arguments of transformers' forward "
                "(input_ids, attention_mask, labels, ...), outputs those of the fields that it returns.",
                "attend forward bert-base --inputs in.safetensors --outputs out.safetensors --attentions");
  add_model(parser.app(), model);
  parser.app().add_option("--inputs", inputs, "A safetensors file with the inputs")->required();
  parser.app().add_option("--outputs", outputs, "The safetensors file to write")->required();
  parser.app().add_flag("--hidden-states", options.hidden_states, "Also write the output of every layer");
  parser.app().add_flag("--attentions", options.attentions,
                        "Also write the attention weights of every layer");
  parser.app().add_flag("--gradients", options.gradients,
                        "Also write the gradient of the loss for every tensor");
  if (const auto status = parser.parse(argc, argv)) return *status;

  const ModelDirectory directory(model);
  const PretrainedModel loaded =
      PretrainedModel::load(directory, options.gradients ? Purpose::training : Purpose::inference);
  remark_on_missing_pooler(loaded, directory);
  const SentenceDirectory modules = read_sentence_directory(directory);
  std::optional<SentenceModules> sentence;
  const Transformer network = loaded.network();
  if (!modules.assumed && modules.makes_vectors() && !network->is_encoder_decoder() &&
      !network->reads_images()) {
    sentence.emplace(modules.modules,
                     (network->decoder ? network->decoder : network->encoder)->spec().width());
    options.sentence = &*sentence;
  }
  const auto given = read_tensors(inputs);
  write_tensors(outputs, naming_file(inputs, [&] { return run_forward(loaded, given, options); }));
  return 0;
}

}  // namespace attend::cli
