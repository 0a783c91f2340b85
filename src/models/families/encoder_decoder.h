// The encoder-decoder of fairseq's models (Marian's port, BART and its relatives, M2M-100): the config
// fields, blocks and checkpoint names that they share.
#pragma once

#include "models/families/family.h"

namespace attend {

// How a relative differs.
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

// An Error for tie_encoder_decoder, which only composed models may have (composed.cpp).
void check_untied(const Fields& config);

// One of the two stacks; the family sets the positions.
StackSpec read_stack(const Fields& config, const SequenceToSequenceRelative& relative, bool decoder);

// A decoder alone ("...ForCausalLM"), which reads encoder_hidden_states if they are given.
void put_decoder_alone(ModelSpec& model, const Fields& config, const StackSpec& decoder);

// BART's heads over both stacks, or its decoder alone. `positions`: the kind of position table of each stack,
// whose size is the relative's max_position_embeddings.
ModelSpec bart_model(const Fields& config, std::string_view architecture,
                     const SequenceToSequenceRelative& relative, PositionSpec positions);
// A position table that begins with `offset` unused rows.
PositionSpec learned_positions(const Fields& config, const SequenceToSequenceRelative& relative,
                               std::int64_t offset);
std::vector<WeightName> bart_weights(const ModelSpec& model);
// config.json of a new model without the ids of special tokens, and further fields that it may contain.
Json fresh_bart_config(std::string_view model_type, std::string_view architecture,
                       const SequenceToSequenceRelative& relative);
std::vector<std::string_view> bart_optional_fields();
// "tiny" learns something within minutes on a CPU; others keep the relative's sizes.
SequenceToSequenceRelative sized(SequenceToSequenceRelative relative, std::string_view preset);

std::vector<WeightName> sequence_to_sequence_weights(const ModelSpec& model);

}  // namespace attend
