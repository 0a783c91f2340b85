// generate() as Hugging Face defines it: padded tensors in, padded tensors out.
#pragma once

#include "generation/generate.h"

#include <map>

namespace attend {

// Inputs: input_ids [B, L] and attention_mask [B, L]; without a mask, padding is recognised as the original
// does. For a decoder with an encoder also decoder_input_ids [B, n], what it has written already, with or
// without the start token; for a decoder that is guided (guidance_scale) negative_prompt_ids [B, N] and
// negative_prompt_attention_mask [B, N], whose padding moves nothing (in the original it moves positions).
// Outputs, with R = B * num_return_sequences:
// - sequences [R, L'] int64, with the prompt (or what has been written, from the start token on) in front and
//   padding behind the end;
// - of a beam search sequences_scores [R];
// - with output_scores transition_scores [R, new tokens], the log-probability of each token, and 0 behind the
//   end;
// - with output_attentions and output_hidden_states those of the whole texts, named and laid out as
//   run_forward() gives them: attentions.0 [R, heads, L' - 1, L' - 1] and so on, zero where nothing is. The
//   original has the same numbers in pieces, one for each step. The encoder's have B rows.
// Error for an input that is missing, unknown or misshapen.
std::map<std::string, Tensor> run_generate(const PretrainedModel& model,
                                           const std::map<std::string, Tensor>& inputs,
                                           const GenerationConfig& config,
                                           const GenerateOptions& options = {});

}  // namespace attend
