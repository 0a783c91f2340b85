// The forward pass as Hugging Face defines it: padded tensors in, named tensors out. For comparison, and for
// programs that already have tensors; everything else uses ragged batches.
#pragma once

#include "models/pretrained_model.h"
#include "models/sentence_modules.h"

namespace attend {

struct ForwardOptions {
  bool hidden_states = false, attentions = false;
  std::optional<std::int64_t> adapter =
      {};  // with this one of the model's alone (-1: none); absent: all of them
  // Of the loss, by checkpoint name: grad.<name>. With an adapter, of what the adapter trains alone, by the
  // names of its file.
  bool gradients = false;
  // With rows of an adapter's virtual tokens before those of each text, as peft has them. Without them,
  // states and attentions cannot be asked for.
  bool virtual_rows = true;
  // Of a sentence-transformers directory: sentence_embedding [B, size], where the model has no head.
  SentenceModules* sentence = nullptr;
};

// Does the model take token_type_ids?
bool takes_types(const StackSpec& stack);
bool takes_types(const ModelSpec& model);
inline bool takes_types(const PretrainedModel& model) {
  return takes_types(model.network()->spec());
}

// Inputs are named as the arguments of the model's forward: input_ids [B, L], attention_mask [B, L] (without
// it every position is real), token_type_ids, position_ids, labels; decoder_input_ids and
// decoder_attention_mask where there are two stacks. Outputs are named as the fields of its ModelOutput,
// numbered where there is one for each layer (attentions.0); positions that are not real are zero. The
// weights of XLNet's two streams are attentions.0.0 and attentions.0.1 (there of every column, in the
// targets' places those of the targets). With adapters beside the model, `adapters` [B] says which of them
// each row is computed with (-1: none). Error for an input that is missing, unknown or misshapen.
std::map<std::string, Tensor> run_forward(const PretrainedModel& model,
                                          const std::map<std::string, Tensor>& inputs,
                                          const ForwardOptions& options);

}  // namespace attend
