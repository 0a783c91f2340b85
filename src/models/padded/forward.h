// The forward pass as Hugging Face defines it: padded tensors in, named tensors out. For comparison, and for
// programs that already have tensors; everything else uses ragged batches.
#pragma once

#include "models/checkpoint/pretrained_model.h"
#include "models/checkpoint/sentence_modules.h"

namespace attend {

struct ForwardOptions {
  bool hidden_states = false, attentions = false;
  std::optional<std::int64_t> adapter =
      {};  // the index of the only adapter to use (-1: none); absent: all of them
  // The gradients of the loss, by checkpoint name: grad.<name>. With an adapter, only those of what the
  // adapter trains, by the names of its file.
  bool gradients = false;
  // Whether outputs include the rows of an adapter's virtual tokens before each text, as in peft. Without
  // them, states and attentions are not available.
  bool virtual_rows = true;
  // From a sentence-transformers directory: adds sentence_embedding [B, size], if the model has no head.
  SentenceModules* sentence = nullptr;
};

// Whether the model takes token_type_ids.
bool takes_types(const StackSpec& stack);
bool takes_types(const ModelSpec& model);
inline bool takes_types(const PretrainedModel& model) {
  return takes_types(model.network()->spec());
}

// Inputs have the names of the arguments of transformers' forward: input_ids [B, L], attention_mask [B, L]
// (without it every position is real), token_type_ids, position_ids, labels; with two stacks also
// decoder_input_ids and decoder_attention_mask. Outputs have the names of the fields of its ModelOutput, with
// a number for each layer (attentions.0); positions that are not real are zero. The weights of XLNet's two
// streams are attentions.0.0 and attentions.0.1 (the second has all columns; at the targets' columns, those
// of the targets). `adapters` [B] gives the index of each row's adapter (-1: none). An Error for an input
// that is missing, unknown or has the wrong shape.
std::map<std::string, Tensor> run_forward(const PretrainedModel& model,
                                          const std::map<std::string, Tensor>& inputs,
                                          const ForwardOptions& options);

}  // namespace attend
