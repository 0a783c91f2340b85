// The encoder-decoder of fairseq's models (Marian's port, BART and its relatives, M2M-100): what they share
// of config.json, of the blocks and of the checkpoint names.
#pragma once

#include "models/family.h"

namespace attend {

// Where a relative goes its own way.
struct SequenceToSequenceRelative {
  NormOrder order = NormOrder::post;
  bool embedding_norm = false;  // BART's norm over the embeddings
  bool scales_embeddings = false;
  std::int64_t vocabulary = 58101, width = 1024, heads = 16, inner = 4096, positions = 1024;
  std::int64_t encoder_layers = 12, decoder_layers = 12;
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

// BART's heads over both stacks, or its decoder alone. Each stack's positions are the relative's
// max_position_embeddings, of this kind.
ModelSpec bart_model(const Fields& config, std::string_view architecture,
                     const SequenceToSequenceRelative& relative, PositionSpec positions);
// A position table that begins with so many rows that are never looked up.
PositionSpec learned_positions(const Fields& config, const SequenceToSequenceRelative& relative,
                               std::int64_t offset);
std::vector<WeightName> bart_weights(const ModelSpec& model);
// config.json of a fresh model without the ids of special tokens, and the fields that it may hold besides.
Json fresh_bart_config(std::string_view model_type, std::string_view architecture,
                       const SequenceToSequenceRelative& relative);
std::vector<std::string_view> bart_optional_fields();
// "tiny" learns something within minutes on a CPU; others keep theirs.
SequenceToSequenceRelative sized(SequenceToSequenceRelative relative, std::string_view preset);

std::vector<WeightName> sequence_to_sequence_weights(const ModelSpec& model);

}  // namespace attend
