// Details of transformers that no paper describes: names, and padding that is computed although no real token
// reads it. A spec needs them to reproduce its numbers and read its files. They are separate from the
// architecture, so a reader of the architecture can skip them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attend {

struct AttentionQuirks {
  // If padding is computed because a loss or a head reads it. Causal: a row that sees no real token sees all
  // columns equally (GPT-J, T5, BART), not only those up to its own (GPT-2). Else: so does all padding
  // (DeBERTa); otherwise it sees the real tokens (BERT).
  bool padding_sees_all = false;
  // Causal, if padding is computed: added to the scores of later tokens. They are then hidden from all but
  // padding that sees no real token before it (CTRL). Or it replaces their scores (GPT; if padding sees all,
  // the lowest score also replaces everything hidden: MPT).
  std::optional<double> later_penalty = {};
  bool later_scores_are_equal = false;
};

struct StackQuirks {
  // Reports a hidden state after every `layers_per_state` layers.
  std::int64_t layers_per_state = 1;
  bool norm_in_states = true;  // the last of them is taken after the final norm
  // XLM: hidden states of padding are zero, and without a mask the length of a text is its number of tokens
  // that are not padding.
  bool padding_is_zero = false;
  bool padding_begins_as_zero = false;  // DeBERTa: embeddings of padding are zero
};

struct LanguageModelHeadQuirks {
  // A decoder's labels are at the position that predicts them, not shifted by one (only BART).
  bool labels_in_place = false;
  std::string_view output = "logits";  // what transformers calls the result
};

// What transformers calls the result, the labels and the loss; a loss of another name is only reported.
struct ScoreHeadQuirks {
  std::string_view output = "logits", label_input = "labels", loss = "loss";
  bool ignores_padding = false;  // labels of padding do not count (BioGPT)
};

struct ModelQuirks {
  // The original's generate() counts the positions of a padded prompt by columns, padding included; else by
  // tokens.
  bool prompts_by_column = false;
  // If only labels are given, the decoder's first input token is the last label that is not padding (mBART's
  // language).
  bool begins_with_last_label = false;
  bool other_names = false;  // the checkpoint uses the second set of names of the family
};

}  // namespace attend
