#include "cli/generation_options.h"

#include "base/file.h"

namespace attend::cli {
namespace {

// An option that stands for a field of the generation config: `fields` gets those that are given.
template <class Value>
CLI::Option* add_field(CLI::App& app, Json& fields, const char* option, const char* field, const char* help) {
  return app.add_option_function<Value>(
      option, [&fields, field](const Value& value) { fields[field] = value; }, help);
}

// Such an option that has a meaning only when tokens are drawn, and so asks for that as well.
template <class Value>
void add_sampling_field(CLI::App& app, Json& fields, const char* option, const char* field,
                        const char* help) {
  app.add_option_function<Value>(
      option,
      [&fields, field](const Value& value) {
        fields[field] = value;
        if (!fields.contains("do_sample")) fields["do_sample"] = true;
      },
      help);
}

}  // namespace

void add_languages(CLI::App& app, std::string& source, std::string& target) {
  CLI::Option* from = app.add_option(
      "--src-lang", source, "Of a model of many languages: that of the texts, such as en or eng_Latn");
  CLI::Option* to = app.add_option("--tgt-lang", target, "That of the translations");
  from->needs(to);
  to->needs(from);
}

void add_generation_options(CLI::App& app, Json& fields) {
  using Integer = std::int64_t;
  add_field<Integer>(app, fields, "--max-new-tokens", "max_new_tokens", "At most so many tokens");
  add_field<Integer>(app, fields, "--max-length", "max_length", "The same, with the prompt's tokens");
  add_field<Integer>(app, fields, "--min-new-tokens", "min_new_tokens", "At least so many tokens");
  add_field<std::vector<std::string>>(app, fields, "--stop", "stop_strings",
                                      "A text ends where it says this; may be given several times")
      ->allow_extra_args(false);
  add_field<double>(app, fields, "--max-time", "max_time",
                    "After so many seconds texts end with their next token");
  app.add_flag_function(
      "--sample,!--no-sample", [&fields](std::int64_t count) { fields["do_sample"] = count > 0; },
      "Draw tokens; so does any of the next five, but --top-k with --penalty-alpha");
  add_sampling_field<double>(app, fields, "--temperature", "temperature",
                             "Below 1 favours likely tokens, above 1 unlikely ones");
  // Before --top-k, which asks for sampling only without it: options are read in this order.
  add_field<double>(
      app, fields, "--penalty-alpha", "penalty_alpha",
      "Contrastive search: from 0 to 1, how much it counts that a token is unlike what was said; "
      "with --top-k 4 or so");
  app.add_option_function<Integer>(
      "--top-k",
      [&fields](Integer k) {
        fields["top_k"] = k;
        if (!fields.contains("do_sample") && !fields.contains("penalty_alpha")) fields["do_sample"] = true;
      },
      "Draw among the likeliest k tokens; 0: all");
  add_sampling_field<double>(app, fields, "--top-p", "top_p",
                             "Draw among the likeliest tokens of this probability together");
  add_sampling_field<double>(app, fields, "--min-p", "min_p",
                             "Draw among tokens with at least this share of the likeliest one's probability");
  add_sampling_field<Integer>(
      app, fields, "--mirostat", "mirostat",
      "1 or 2: draw tokens whose surprise stays near --mirostat-tau; rules out tokens "
      "in place of the three above");
  add_field<double>(app, fields, "--mirostat-tau", "mirostat_tau", "That surprise, in bits; otherwise 5");
  add_field<double>(app, fields, "--mirostat-eta", "mirostat_eta", "How fast mirostat learns, otherwise 0.1");
  add_field<Integer>(app, fields, "--beams", "num_beams", "Beam search with so many texts at a time");
  add_field<double>(app, fields, "--length-penalty", "length_penalty",
                    "Of a beam search: above 0 favours long texts");
  add_field<Integer>(app, fields, "--prompt-lookup", "prompt_lookup_num_tokens",
                     "Guess so many tokens from what the text repeats: the same result, sooner");
  app.add_option_function<std::string>(
         "--early-stopping",
         [&fields](const std::string& value) {
           fields["early_stopping"] = value == "never" ? Json(value) : Json(value == "true");
         },
         "Of a beam search: once there are as many texts as beams")
      ->check(CLI::IsMember({"true", "false", "never"}));
  add_field<Integer>(app, fields, "--num-return-sequences", "num_return_sequences", "Texts per prompt");
  app.add_option_function<Integer>(
      "--alternatives",
      [&fields](Integer count) {
        fields["return_alternatives"] = true;
        fields["num_return_sequences"] = count;
      },
      "So many texts per prompt that begin differently: with the likeliest tokens that may come next");
  app.add_option_function<std::string>(
      "--json-schema", [&fields](const std::string& file) { fields["json_schema"] = read_json(file); },
      "Texts are JSON of the schema in this file");
  add_field<std::string>(app, fields, "--regex", "regex", "Texts match this regular expression, as a whole");
  app.add_option_function<std::string>(
      "--grammar", [&fields](const std::string& file) { fields["grammar"] = read_file(file); },
      "Texts follow the rules in this file: 'root ::= ...', as llama.cpp's GBNF");
  add_field<double>(
      app, fields, "--guidance-scale", "guidance_scale",
      "Above 1: what the prompt makes likely counts so much more than what comes without it (or "
      "behind --negative-prompt)");
  add_field<double>(app, fields, "--repetition-penalty", "repetition_penalty",
                    "Above 1: tokens that have come are less likely");
  add_field<double>(app, fields, "--presence-penalty", "presence_penalty",
                    "Above 0: tokens that the new text has are less likely, as in OpenAI's API");
  add_field<double>(app, fields, "--frequency-penalty", "frequency_penalty",
                    "Above 0: the less likely, the more often it has them");
  add_field<Integer>(app, fields, "--no-repeat-ngram-size", "no_repeat_ngram_size",
                     "No sequence of so many tokens comes twice");
}

}  // namespace attend::cli
