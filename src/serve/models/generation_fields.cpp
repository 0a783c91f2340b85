#include "serve/models/generation_fields.h"

#include <limits>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

// Limits for settings that change scores, which are float32.
constexpr double kLargest = 1e30, kSmallest = 1e-30;

Json id() {
  return integer(0);
}
Json one_or_several(const Json& of) {
  return any_of({of, list(of)});
}
// Fields about the user and about storage: texts do not depend on them.
RequestField without_effect(const char* name, Json schema = anything()) {
  return {name, std::move(schema), "has no effect"};
}

}  // namespace

const RequestFields& generation_fields() {
  using Limits = std::numeric_limits<std::int64_t>;
  static const RequestFields all = {
      {"max_tokens", integer(0),
       "maximum number of new tokens; 256 if neither the request nor the model sets it"},
      {"max_completion_tokens", integer(0), "the same"},
      {"n", integer(1, 128), "texts for each prompt"},
      {"stop", one_or_several(name()), "a text ends before it says one of these"},
      {"seed", integer(Limits::min(), Limits::max()), "of what is drawn: the same seed, the same text"},
      {"stream", flag(), "pieces of the text as they come, as server-sent events"},
      {"stream_options",
       object({{"include_usage", any_of({flag(), nothing()})},
               {"include_obfuscation", any_of({flag(), nothing()})}}),
       "include_usage: the last piece has the numbers of tokens"},
      {"logit_bias",
       Json{{"type", "object"},
            {"propertyNames", {{"pattern", "^[0-9]{1,9}$"}}},  // for programs; here the handler reads them
            {"additionalProperties", number(-kLargest, kLargest)}},
       "numbers by the ids of tokens, added to their scores"},
      {"response_format",
       any_of({object({{"type", one_of({"text", "json_object"})}}, {"type"}),
               object({{"type", one_of({"json_schema"})},
                       {"json_schema", object({{"name", text()},
                                               {"description", any_of({text(), nothing()})},
                                               {"schema", any_of({any_object(), flag()})},
                                               {"strict", any_of({flag(), nothing()})}},
                                              {"schema"})}},
                      {"type", "json_schema"})}),
       "text; json_object: JSON; json_schema: JSON of this schema"},
      {"use_beam_search", flag(), "a beam search with as many beams as best_of or n says, as in vLLM"},
      {"prefix", text(), "what an encoder-decoder's text begins with"},
      {"negative_prompt", text(), "with guidance_scale: what a decoder's text is led away from"},
      without_effect("user", text()),
      without_effect("metadata"),
      without_effect("store"),
      without_effect("service_tier"),
      without_effect("safety_identifier"),
      without_effect("prompt_cache_key"),
  };
  return all;
}

namespace {

// The length of texts, and sampling.
RequestFields sampling_fields() {
  return {
      {"max_new_tokens", integer(1), "maximum number of new tokens"},
      {"max_length", integer(1), "the same, with the prompt's tokens"},
      {"min_new_tokens", integer(0), "minimum number of new tokens"},
      {"min_length", integer(0), "the same, with the prompt's tokens"},
      {"stop_strings", one_or_several(name()), "as stop"},
      {"max_time", number_above(0), "maximum time in seconds; then the text ends with its next token"},
      {"do_sample", flag(),
       "draw tokens; else the likeliest is taken. So does temperature above 0, or top_p"},
      {"temperature", number(0),
       "0: the likeliest token each time; below 1 favours likely tokens, above 1 others"},
      {"top_k", integer(0), "draw among the likeliest k tokens; 0: all"},
      {"top_p", number(0, 1), "draw among the likeliest tokens of this probability together"},
      {"min_p", number(0, 1), "draw among tokens with this share of the likeliest one's probability"},
      {"typical_p", number(0), "draw among the most typical tokens of this probability together"},
      {"epsilon_cutoff", number(0, 1), "draw among tokens of at least this probability"},
      {"eta_cutoff", number(0, 1), "the same, and less where many are alike"},
      {"dynatemp_range", number(0), "how far the temperature follows the entropy, as in llama.cpp"},
      {"dynatemp_exponent", number(0), "in which way it does"},
      {"xtc_probability", number(0, 1), "how often only the least likely of likely tokens may be drawn"},
      {"xtc_threshold", number(0, 1), "from which probability on a token is a likely one"},
      {"mirostat", integer(0, 2), "1 or 2: draw tokens whose surprise stays near mirostat_tau"},
      {"mirostat_tau", number(0), "that surprise, in bits"},
      {"mirostat_eta", number(0), "how fast mirostat learns"},
  };
}

// Changes of the tokens' scores.
RequestFields penalty_fields() {
  return {
      {"presence_penalty", number(-kLargest, kLargest), "subtracted once from tokens that the new text has"},
      {"frequency_penalty", number(-kLargest, kLargest),
       "subtracted each time that the new text has the token"},
      {"repetition_penalty", number(kSmallest, kLargest), "above 1: tokens that have come are less likely"},
      {"encoder_repetition_penalty", number(kSmallest, kLargest),
       "above 1: tokens of the source are likelier"},
      {"no_repeat_ngram_size", integer(0), "no n-gram of this size occurs twice"},
      {"encoder_no_repeat_ngram_size", integer(0), "no n-gram of this size is copied from the source"},
      {"dry_multiplier", number(0),
       "above 0: repetitions are less likely the longer they are, as in llama.cpp"},
      {"dry_base", number_above(0), "how much less by each token"},
      {"dry_allowed_length", integer(0), "how long a repetition may be"},
      {"dry_range", integer(-1), "how many tokens back it looks; -1: all"},
      {"dry_sequence_breaker_ids", one_or_several(id()), "tokens over which no repetition reaches"},
  };
}

// Beams and other searches.
RequestFields search_fields() {
  return {
      {"num_beams", integer(1, 4096), "number of beams"},
      {"num_return_sequences", integer(1, 128), "as n"},
      {"num_beam_groups", integer(1), "number of groups of beams, which are kept different"},
      {"diversity_penalty", number(0), "how much they differ"},
      {"length_penalty", number(), "of a beam search: above 0 favours long texts"},
      {"early_stopping", any_of({flag(), one_of({"never"})}),
       "of a beam search: once there are as many texts as beams"},
      {"force_words_ids", list(any_of({list(id(), 1), list(list(id(), 1), 1)}), 1),
       "words that must come, as token ids"},
      {"return_alternatives", flag(), "texts that begin with the likeliest tokens that may come next"},
      {"penalty_alpha", number(0, 1), "contrastive search, among top_k tokens"},
      {"prompt_lookup_num_tokens", integer(1), "number of draft tokens taken from earlier in the text"},
      {"max_matching_ngram_size", integer(1), "by how many tokens before it looks for them"},
      {"num_assistant_tokens", integer(1), "has no effect without an assistant"},
  };
}

// The required form of texts, and allowed tokens.
RequestFields form_fields() {
  return {
      {"json_schema", any_of({any_object(), flag()}), "the text is JSON of this schema"},
      {"regex", text(), "the text matches this regular expression, as a whole"},
      {"grammar", text(), "the text follows these rules in EBNF, of which root is the text"},
      {"structural_tag", any_object(),
       "free text in which certain texts begin other forms, as in XGrammar and vLLM"},
      {"guidance_scale", number(-kLargest, kLargest),
       "above 1: the weight of what the prompt makes likely (classifier-free guidance)"},
      {"watermarking_config", any_object(), "the mark that the text gets"},
      {"bad_words_ids", list(list(id(), 1)), "sequences of tokens that must not come"},
      {"sequence_bias", list(pair(list(id(), 1), number(-kLargest, kLargest))),
       "pairs of a sequence of tokens and a number that is added to its score"},
      {"suppress_tokens", one_or_several(id()), "tokens that do not come"},
      {"begin_suppress_tokens", one_or_several(id()), "tokens that do not come first"},
      {"exponential_decay_length_penalty", pair(integer(0), number_above(0)),
       "[start, factor]: from this many tokens on, the end token becomes likelier by the factor at each "
       "step"},
      {"forced_bos_token_id", id(), "the token that comes first"},
      {"forced_eos_token_id", one_or_several(id()),
       "the token that comes last where the text has its full length"},
      {"eos_token_id", one_or_several(integer(std::numeric_limits<std::int32_t>::min())),
       "tokens that end a text"},
      {"pad_token_id", integer(-1), "has no effect"},
      {"bos_token_id", id(), "what an empty prompt is read as"},
      {"decoder_start_token_id", id(), "what an encoder-decoder's text begins with"},
      {"remove_invalid_values", flag(), "scores that are no numbers count as 0"},
      {"renormalize_logits", flag(), "scores are log-probabilities again after all changes"},
      {"output_scores", flag(), "has no effect; see logprobs"},
      {"output_top_scores", one_of({0}), "see logprobs"},
      {"output_attentions", one_of({false}), "texts come without them"},
      {"output_hidden_states", one_of({false}), "texts come without them"},
  };
}

}  // namespace

const RequestFields& config_fields() {
  static const RequestFields all = sampling_fields() + penalty_fields() + search_fields() + form_fields();
  return all;
}

}  // namespace attend::serve
