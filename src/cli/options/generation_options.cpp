#include "cli/options/generation_options.h"

#include "base/file.h"

namespace attend::cli {
namespace {

// An option for a field of the generation config: `fields` gets the given options.
template <class Value>
CLI::Option* add_field(CLI::App& app, Json& fields, const char* option, const char* field, const char* help) {
  return app.add_option_function<Value>(
      option, [&fields, field](const Value& value) { fields[field] = value; }, help);
}

// An option that applies only to sampling, and therefore turns it on.
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
  CLI::Option* from =
      app.add_option("--src-lang", source, "Source language of a multilingual model, such as en or eng_Latn");
  CLI::Option* to = app.add_option("--tgt-lang", target, "Target language of a multilingual model");
  from->needs(to);
  to->needs(from);
}

void add_generation_options(CLI::App& app, Json& fields) {
  using Integer = std::int64_t;
  add_field<Integer>(app, fields, "--max-new-tokens", "max_new_tokens", "Max number of new tokens");
  add_field<Integer>(app, fields, "--max-length", "max_length", "Max number of tokens, prompt included");
  add_field<Integer>(app, fields, "--min-new-tokens", "min_new_tokens", "Min number of new tokens");
  add_field<std::vector<std::string>>(app, fields, "--stop", "stop_strings",
                                      "Stop string: the text ends where it occurs; may be repeated")
      ->allow_extra_args(false);
  add_field<double>(app, fields, "--max-time", "max_time",
                    "Time limit in seconds; texts end with their next token");
  app.add_flag_function(
      "--sample,!--no-sample", [&fields](std::int64_t count) { fields["do_sample"] = count > 0; },
      "Sample tokens instead of taking the likeliest. The next five options imply it, except --top-k with "
      "--penalty-alpha");
  add_sampling_field<double>(app, fields, "--temperature", "temperature",
                             "Sampling temperature: below 1 favours likely tokens, above 1 unlikely ones");
  // Before --top-k, which turns on sampling only without it: options are read in this order.
  add_field<double>(app, fields, "--penalty-alpha", "penalty_alpha",
                    "Contrastive search: weight, from 0 to 1, of how much a token differs from the text so "
                    "far; use with --top-k 4 or so");
  app.add_option_function<Integer>(
      "--top-k",
      [&fields](Integer k) {
        fields["top_k"] = k;
        if (!fields.contains("do_sample") && !fields.contains("penalty_alpha")) fields["do_sample"] = true;
      },
      "Sample from the k likeliest tokens; 0: all");
  add_sampling_field<double>(app, fields, "--top-p", "top_p",
                             "Sample from the likeliest tokens that together have this probability");
  add_sampling_field<double>(
      app, fields, "--min-p", "min_p",
      "Sample from tokens with at least this fraction of the likeliest token's probability");
  add_sampling_field<Integer>(app, fields, "--mirostat", "mirostat",
                              "Mirostat version, 1 or 2: sample tokens whose surprise stays near "
                              "--mirostat-tau; replaces --top-k, --top-p and --min-p");
  add_field<double>(app, fields, "--mirostat-tau", "mirostat_tau",
                    "Target surprise of mirostat in bits; default 5");
  add_field<double>(app, fields, "--mirostat-eta", "mirostat_eta", "Learning rate of mirostat; default 0.1");
  add_field<Integer>(app, fields, "--beams", "num_beams", "Number of beams for beam search");
  add_field<double>(app, fields, "--length-penalty", "length_penalty",
                    "Beam search: above 0 favours long texts");
  add_field<Integer>(
      app, fields, "--prompt-lookup", "prompt_lookup_num_tokens",
      "Max draft tokens from earlier text (prompt lookup decoding): faster, with the same result");
  app.add_option_function<std::string>(
         "--early-stopping",
         [&fields](const std::string& value) {
           fields["early_stopping"] = value == "never" ? Json(value) : Json(value == "true");
         },
         "Beam search: stop as soon as there are as many finished texts as beams")
      ->check(CLI::IsMember({"true", "false", "never"}));
  add_field<Integer>(app, fields, "--num-return-sequences", "num_return_sequences",
                     "Number of texts per prompt");
  app.add_option_function<Integer>(
      "--alternatives",
      [&fields](Integer count) {
        fields["return_alternatives"] = true;
        fields["num_return_sequences"] = count;
      },
      "Number of alternatives per prompt, each starting with a different one of the likeliest next tokens");
  app.add_option_function<std::string>(
      "--json-schema", [&fields](const std::string& file) { fields["json_schema"] = read_json(file); },
      "A file with a JSON schema that texts must follow");
  add_field<std::string>(app, fields, "--regex", "regex",
                         "A regular expression that the whole text must match");
  app.add_option_function<std::string>(
      "--grammar", [&fields](const std::string& file) { fields["grammar"] = read_file(file); },
      "A file with a grammar that texts must follow, in llama.cpp's GBNF ('root ::= ...')");
  add_field<double>(app, fields, "--guidance-scale", "guidance_scale",
                    "Classifier-free guidance: above 1, strengthens the prompt's effect compared with no "
                    "prompt (or with --negative-prompt)");
  add_field<double>(app, fields, "--repetition-penalty", "repetition_penalty",
                    "Above 1: makes tokens that already occur less likely");
  add_field<double>(app, fields, "--presence-penalty", "presence_penalty",
                    "Above 0: makes tokens that occur in the new text less likely, as in OpenAI's API");
  add_field<double>(app, fields, "--frequency-penalty", "frequency_penalty",
                    "Above 0: makes tokens less likely each time they occur in the new text");
  add_field<Integer>(app, fields, "--no-repeat-ngram-size", "no_repeat_ngram_size",
                     "Forbid repeated sequences of this many tokens");
}

}  // namespace attend::cli
