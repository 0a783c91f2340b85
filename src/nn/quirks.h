// Details of transformers that no paper describes: padding that is computed although no real token reads it,
// and names. A spec needs them to give its numbers and read its files. They are separate from the
// architecture, and readers who want to understand that may skip them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attend {

struct AttentionQuirks {
  // Where padding is computed because a loss or a head reads it. Causal: what sees no real token sees every
  // column alike (GPT-J, T5, BART) and not only those up to its own (GPT-2). Else: so does all padding
  // (DeBERTa), which otherwise sees the real tokens (BERT).
  bool padding_sees_all = false;
  // Causal, where padding is computed: what is added to the scores of later tokens, which are then hidden
  // from all but padding that sees no real token before it (CTRL); or stands in their place (GPT; where
  // padding sees all, so does the lowest score for whatever is hidden: MPT).
  std::optional<double> later_penalty = {};
  bool later_scores_are_equal = false;
};

struct StackQuirks {
  // A hidden state is reported behind every so many layers.
  std::int64_t layers_per_state = 1;
  bool norm_in_states = true;  // the last of them is behind the final norm
  // XLM: hidden states of padding are zero, and without a mask a text is as long as it has tokens that are no
  // padding.
  bool padding_is_zero = false;
  bool padding_begins_as_zero = false;  // DeBERTa: embeddings of padding are zero
};

struct LanguageModelHeadQuirks {
  // A decoder's labels are what it should say where they stand, and not one place before (BART's alone).
  bool labels_in_place = false;
  std::string_view output = "logits";  // what transformers calls the result
};

// What transformers calls the result, the labels and the loss; one of another name is only reported.
struct ScoreHeadQuirks {
  std::string_view output = "logits", label_input = "labels", loss = "loss";
  bool ignores_padding = false;  // labels of padding do not count (BioGPT)
};

struct ModelQuirks {
  // The original's generate() counts the positions of a padded prompt by columns, padding included; otherwise
  // by tokens.
  bool prompts_by_column = false;
  // Where only labels are given, a decoder reads their last token that is no padding before the others
  // (mBART's language).
  bool begins_with_last_label = false;
  bool other_names = false;  // the checkpoint calls its weights by the second set of names that a family has
};

}  // namespace attend
