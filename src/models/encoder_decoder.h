// The encoder-decoder that fairseq gave to Marian's port, BART and M2M-100: what they share of config.json,
// of the blocks and of the names in a checkpoint.
#pragma once

#include "models/family.h"

namespace attend {

// Where a relative goes its own way.
struct SequenceToSequenceRelative {
  NormOrder order = NormOrder::post;
  bool embedding_norm = false;  // BART's norm over the embeddings
  std::int64_t vocabulary = 58101, width = 1024, layers = 12, heads = 16, inner = 4096, positions = 1024;
  std::int64_t padding_id = 58100;
  double attention_dropout = 0;
  std::string_view activation = "gelu";
};

// Error for tie_encoder_decoder, which models of two alone may have (composed.cpp).
void check_untied(const Fields& config);

// One of the two stacks; the positions are the family's.
StackSpec read_stack(const Fields& config, const SequenceToSequenceRelative& relative, bool decoder);

// A decoder alone ("...ForCausalLM"), which reads encoder_hidden_states where it is given some.
void put_decoder_alone(ModelSpec& model, const Fields& config, const StackSpec& decoder);

std::vector<WeightName> sequence_to_sequence_weights(const ModelSpec& model);

}  // namespace attend
