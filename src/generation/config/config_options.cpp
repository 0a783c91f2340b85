#include "generation/config/config_options.h"

#include "base/error.h"
#include "generation/config/watermark.h"

#include <limits>

namespace attend {
namespace {

using namespace option;

using Ids = std::vector<std::int64_t>;

const Json kNotNegative = schema::number(0);
const Json kAboveZero = schema::number_above(0);
const Json kFraction = schema::number(0, 1);
// Scores are float32. A larger setting could turn a finite score into an infinite one.
const Json kChange = schema::number(-1e30, 1e30);
const Json kFactor = schema::number(1e-30, 1e30);

const Json kIds = schema::list(schema::integer(0), 1);

// A list of texts, or one text.
Option stop_strings_option(std::vector<std::string>& strings) {
  Option option = list("stop_strings", strings, "Stop string: the text ends where it occurs");
  option.schema = schema::any_of({schema::name(), option.schema});
  option.set = [&strings](const Json& value) {
    strings =
        value.is_string() ? std::vector{value.get<std::string>()} : value.get<std::vector<std::string>>();
  };
  return option;
}

Options length_options(GenerationConfig& c) {
  return {
      integer("max_new_tokens", c.max_new_tokens, 1, "Max number of new tokens"),
      integer("max_length", c.max_length, 1, "Max number of tokens, prompt included"),
      integer("min_new_tokens", c.min_new_tokens, 0, "Min number of new tokens"),
      integer("min_length", c.min_length, 0, "Min number of tokens, prompt included"),
      stop_strings_option(c.stop_strings),
      number("max_time", c.max_time, kAboveZero, "Time limit in seconds; texts end with their next token"),
      integer("num_return_sequences", c.num_return_sequences, 1, "Number of texts per prompt"),
      flag("return_alternatives", c.return_alternatives,
           "The `num_return_sequences` texts start with different ones of the likeliest next tokens"),
  };
}

Options sampling_options(GenerationConfig& c) {
  return {
      flag("do_sample", c.do_sample, "Sample tokens instead of taking the likeliest"),
      number("temperature", c.temperature, kNotNegative,
             "Sampling temperature: below 1 favours likely tokens, above 1 unlikely ones"),
      integer("top_k", c.top_k, 0, "Sample from the k likeliest tokens; 0: all"),
      number("top_p", c.top_p, kFraction,
             "Sample from the likeliest tokens that together have this probability"),
      number("min_p", c.min_p, kFraction,
             "Sample from tokens with at least this fraction of the likeliest token's probability"),
      number("typical_p", c.typical_p, kNotNegative,
             "Sample from the most typical tokens that together have this probability"),
      number("epsilon_cutoff", c.epsilon_cutoff, kFraction,
             "Sample from tokens of at least this probability"),
      number("eta_cutoff", c.eta_cutoff, kFraction,
             "As `epsilon_cutoff`, with a lower limit where many tokens are about equally likely"),
      number("dynatemp_range", c.dynatemp_range, kNotNegative,
             "The temperature varies by up to this much with the entropy, as in llama.cpp"),
      number("dynatemp_exponent", c.dynatemp_exponent, kNotNegative,
             "With `dynatemp_range`: exponent of the entropy's share of its maximum"),
      number("xtc_probability", c.xtc_probability, kFraction,
             "Probability of a step in which only the least likely of the likely tokens may be drawn (XTC)"),
      number("xtc_threshold", c.xtc_threshold, kFraction,
             "With `xtc_probability`: the probability from which on a token is a likely one"),
      integer("mirostat", c.mirostat.version, 0, 2,
              "Mirostat version, 1 or 2: sample tokens whose surprise stays near `mirostat_tau`; replaces "
              "`top_k`, `top_p` and `min_p`"),
      number("mirostat_tau", c.mirostat.surprise, kNotNegative, "Target surprise of mirostat in bits"),
      number("mirostat_eta", c.mirostat.rate, kNotNegative, "Learning rate of mirostat"),
  };
}

Options score_options(GenerationConfig& c) {
  return {
      number("repetition_penalty", c.repetition_penalty, kFactor,
             "Above 1: makes tokens that already occur less likely"),
      number("presence_penalty", c.presence_penalty, kChange,
             "Above 0: makes tokens that occur in the new text less likely, as in OpenAI's API"),
      number("frequency_penalty", c.frequency_penalty, kChange,
             "Above 0: makes tokens less likely each time they occur in the new text"),
      number("encoder_repetition_penalty", c.encoder_repetition_penalty, kFactor,
             "Above 1: makes tokens of the source likelier"),
      integer("no_repeat_ngram_size", c.no_repeat_ngram_size, 0,
              "Forbid repeated sequences of this many tokens; 0: allow all"),
      integer("encoder_no_repeat_ngram_size", c.encoder_no_repeat_ngram_size, 0,
              "Forbid sequences of this many tokens that occur in the source; 0: allow all"),
      number("dry_multiplier", c.dry.multiplier, kNotNegative,
             "Above 0: makes repetitions less likely the longer they are, as in llama.cpp (DRY)"),
      number("dry_base", c.dry.base, kAboveZero,
             "With `dry_multiplier`: the factor of the penalty for each further token"),
      integer("dry_allowed_length", c.dry.allowed_length, 0,
              "With `dry_multiplier`: the length up to which repetitions are free"),
      integer("dry_range", c.dry.range, -1,
              "With `dry_multiplier`: how many tokens back to look for repetitions; -1: all"),
      integer_or_list("dry_sequence_breaker_ids", c.dry.sequence_breaker_ids, 0,
                      "With `dry_multiplier`: token ids across which no repetition extends"),
      number("guidance_scale", c.guidance_scale, kChange,
             "Classifier-free guidance: above 1, strengthens the prompt's effect compared with no prompt "
             "or with `negative_prompt`"),
      flag("remove_invalid_values", c.remove_invalid_values, "Take scores that are not numbers as 0"),
      flag("renormalize_logits", c.renormalize_logits,
           "Make scores log-probabilities again after all changes"),
  };
}

Option early_stopping_option(EarlyStopping& stopping) {
  return {"early_stopping", schema::any_of({schema::flag(), schema::one_of({"never"})}),
          "Beam search: true: stop as soon as there are as many finished texts as beams; never: only if no "
          "better text is possible",
          [&stopping](const Json& value) {
            stopping = value == "never"    ? EarlyStopping::never
                       : value.get<bool>() ? EarlyStopping::yes
                                           : EarlyStopping::no;
          },
          [&stopping] {
            return stopping == EarlyStopping::never ? Json("never") : Json(stopping == EarlyStopping::yes);
          }};
}

// Each word is a list of ids or, if it has several phrases, a list of such lists.
Option force_words_option(std::vector<ForcedWord>& words) {
  return {"force_words_ids", schema::list(schema::any_of({kIds, schema::list(kIds, 1)}), 1),
          "Beam search: words that must occur, each a list of token ids, or a list of such lists of which "
          "one must occur",
          [&words](const Json& given) {
            words.clear();
            for (const Json& word : given)
              words.push_back(word.front().is_array() ? word.get<ForcedWord>() : ForcedWord{word.get<Ids>()});
          },
          [&words] { return Json(words); }};
}

Options search_options(GenerationConfig& c) {
  return {
      integer("num_beams", c.num_beams, 1, 4096, "Number of beams for beam search"),
      number("length_penalty", c.length_penalty, schema::number(), "Beam search: above 0 favours long texts"),
      early_stopping_option(c.early_stopping),
      integer("num_beam_groups", c.num_beam_groups, 1,
              "Number of groups of beams, which find different texts"),
      number("diversity_penalty", c.diversity_penalty, kNotNegative,
             "With `num_beam_groups`: how much they should differ"),
      force_words_option(c.force_words_ids),
      number("penalty_alpha", c.penalty_alpha, kFraction,
             "Contrastive search: weight of how much a token differs from the text so far; use with `top_k` "
             "4 or so"),
      integer("prompt_lookup_num_tokens", c.prompt_lookup_num_tokens, 1,
              "Max draft tokens from earlier text (prompt lookup decoding): faster, with the same result"),
      integer("max_matching_ngram_size", c.max_matching_ngram_size, 1,
              "With `prompt_lookup_num_tokens`: the number of tokens that must match"),
      integer("num_assistant_tokens", c.num_assistant_tokens, 1,
              "Max draft tokens per step of a draft model"),
  };
}

// json_schema, regex, grammar and structural_tag are one member: of these, one may be given, and null takes
// it back.
Option form_option(std::optional<TextForm>& form, TextForm::Kind kind, const char* name, Json schema,
                   std::string description) {
  const bool is_json = kind == TextForm::Kind::json_schema || kind == TextForm::Kind::structural_tag;
  return {name, std::move(schema), std::move(description),
          [=, &form](const Json& value) {
            if (value.is_null()) {
              if (form && form->kind == kind) form.reset();
              return;
            }
            if (form && form->kind != kind)
              fail(
                  "{}: a text has one form; leave out all but one of json_schema, regex, grammar and "
                  "structural_tag",
                  name);
            form = TextForm{kind, is_json ? value.dump() : value.get<std::string>()};
          },
          [=, &form]() -> Json {
            if (!form || form->kind != kind) return {};
            return is_json ? Json::parse(form->text) : Json(form->text);
          }};
}

Option watermark_option(std::optional<Watermark>& watermark) {
  Option option = {
      "watermarking_config", schema::any_object(), "The watermark that texts get, as in transformers",
      [&watermark](const Json& value) { watermark = make_watermark(value, "watermarking_config"); }};
  option.get = [&watermark] { return watermark_fields(watermark); };
  return option;
}

Options form_options(GenerationConfig& c) {
  using Kind = TextForm::Kind;
  return {
      form_option(c.form, Kind::json_schema, "json_schema",
                  schema::any_of({schema::any_object(), schema::flag()}),
                  "A JSON schema that texts must follow; true: any JSON"),
      form_option(c.form, Kind::regex, "regex", schema::text(),
                  "A regular expression that the whole text must match"),
      form_option(c.form, Kind::grammar, "grammar", schema::text(),
                  "A grammar that texts must follow, in llama.cpp's GBNF ('root ::= ...')"),
      form_option(c.form, Kind::structural_tag, "structural_tag", schema::any_object(),
                  "Free text in which certain texts begin other forms, as in XGrammar and vLLM"),
      watermark_option(c.watermark),
  };
}

Option biases_option(std::vector<SequenceBias>& biases) {
  return {"sequence_bias", schema::list(schema::pair(kIds, kChange)),
          "Pairs of a sequence of token ids and a number that is added to its score: [[[10, 45], -2.0]]",
          [&biases](const Json& given) {
            biases.clear();
            for (const Json& pair : given) biases.push_back({pair[0].get<Ids>(), pair[1].get<double>()});
          },
          [&biases] {
            Json pairs = Json::array();
            for (const SequenceBias& each : biases) pairs.push_back({each.tokens, each.bias});
            return pairs;
          }};
}

Option decay_option(std::optional<ExponentialDecay>& decay) {
  return {"exponential_decay_length_penalty", schema::pair(schema::integer(-schema::kMaxInteger), kAboveZero),
          "[start, factor]: from this many new tokens on, end tokens become likelier by the factor at each "
          "token",
          [&decay](const Json& given) {
            decay.reset();
            if (!given.is_null()) decay = {given[0].get<std::int64_t>(), given[1].get<double>()};
          },
          [&decay] {
            return decay ? Json{decay->start, decay->factor} : Json();
          }};
}

Options token_options(GenerationConfig& c) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int32_t>::min();  // some files have -1: no token
  return {
      make("bad_words_ids", c.bad_words_ids, schema::list(kIds),
           "Sequences of token ids that must not occur"),
      biases_option(c.sequence_bias),
      integer_or_list("suppress_tokens", c.suppress_tokens, 0, "Token ids that must not occur"),
      integer_or_list("begin_suppress_tokens", c.begin_suppress_tokens, 0,
                      "Token ids that must not come first"),
      decay_option(c.exponential_decay_length_penalty),
      integer("forced_bos_token_id", c.forced_bos_token_id, 0, "The first new token"),
      integer_or_list("forced_eos_token_id", c.forced_eos_token_id, 0,
                      "The last token of a text of the max length"),
      integer_or_list("eos_token_id", c.eos_token_id, kAny, "Token ids that end a text"),
      integer("pad_token_id", c.pad_token_id, -1, "Token id after the end of a text in tensors"),
      integer("bos_token_id", c.bos_token_id, 0, "Token id that an empty prompt is read as"),
      integer("decoder_start_token_id", c.decoder_start_token_id, 0,
              "Token id that an encoder-decoder's text starts with"),
  };
}

Options output_options(GenerationConfig& c) {
  return {
      flag("output_scores", c.output_scores, "Return the log-probability of every token"),
      integer("output_top_scores", c.output_top_scores, 0,
              "Return also those of this many of the likeliest tokens at each position"),
      flag("output_attentions", c.output_attentions, "Return attention weights"),
      flag("output_hidden_states", c.output_hidden_states, "Return every layer's output"),
  };
}

}  // namespace

std::vector<OptionGroup> option_groups(GenerationConfig& config) {
  return {{"Length", length_options(config)},
          {"Sampling", sampling_options(config)},
          {"Scores", score_options(config)},
          {"Search", search_options(config)},
          {"Form", form_options(config)},
          {"Tokens", token_options(config)},
          {"Returned values", output_options(config)}};
}

Options options_of(GenerationConfig& config) {
  Options all;
  for (const OptionGroup& group : option_groups(config)) all = std::move(all) + group.options;
  return all;
}

const std::vector<OptionGroup>& generation_fields() {
  static const std::vector<OptionGroup> fields = [] {
    static GenerationConfig unread;
    std::vector<OptionGroup> groups = option_groups(unread);
    for (OptionGroup& group : groups)
      for (Option& option : group.options) option.schema.erase("default");
    return groups;
  }();
  return fields;
}

}  // namespace attend
