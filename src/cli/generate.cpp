// attend generate MODEL [PROMPT...]: continues texts, or maps tensors to tensors.
#include "generation/generate.h"

#include <attend/tokenizer.h>

#include "cli/options/bad_inputs.h"
#include "cli/options/generation_options.h"
#include "cli/options/given_texts.h"
#include "cli/options/model_option.h"
#include "cli/options/shard.h"
#include "cli/options/text_lines.h"
#include "cli/options/verb.h"
#include "generation/search/forced_words.h"
#include "generation/tensors.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/weights/tensors.h"
#include "tasks/texts/prompt_texts.h"

#include <cstdio>
#include <map>
#include <random>
#include <utility>

namespace attend::cli {
namespace {

struct GenerateArguments {
  ModelPath model;
  std::string inputs, outputs, config_file, assistant, prefix, negative;
  std::vector<std::string> prompts, forced_words;
  Json fields = Json::object();  // of the generation config
  std::optional<std::uint64_t> seed;
  bool json = false, truncate = false;
  AdapterOf adapters;  // of each prompt
  BadInputs bad;
  GenerateOptions generation;
};

CLI::Option* add_state_flag(CLI::App& app, GenerateArguments& options, const std::string& flag,
                            const char* field, const std::string& what) {
  return app.add_flag_function(
      flag, [&options, field](std::int64_t) { options.fields[field] = true; },
      "With --outputs: also every layer's " + what + ", for the whole texts");
}

void add_options(CLI::App& app, GenerateArguments& options) {
  add_model(app, options.model);
  add_cache(app, options.model);
  add_texts(app, "prompt", options.prompts,
            "Prompts to continue, or inputs of an encoder-decoder; default: lines of standard input");
  add_generation_options(app, options.fields);
  app.add_option("--force-words", options.forced_words,
                 "With --beams: a word or phrase that must occur, or alternatives separated by |, one of "
                 "which must occur; may be repeated")
      ->allow_extra_args(false);
  CLI::Option* prefix = app.add_option("--prefix", options.prefix, "Start of an encoder-decoder's texts");
  CLI::Option* negative = app.add_option("--negative-prompt", options.negative,
                                         "With --guidance-scale: a negative prompt for decoders");
  options.adapters.add(app);
  app.add_option("--generation-config", options.config_file,
                 "A JSON file with fields of generation_config.json, for this run");
  app.add_option("--assistant", options.assistant,
                 "Directory of a draft model for speculative decoding: faster, with the same result, "
                 "especially with the same vocabulary");
  app.add_option("--seed", options.seed, "Random seed; the same seed gives the same text");
  app.add_option("--batch-tokens", options.generation.batch_tokens,
                 "Max prompt tokens, times beams, to process at a time");
  app.add_option("--cache-memory", options.generation.cache.bytes,
                 "Max memory of the KV cache, such as 500MB; prompts wait until there is room. Default: half "
                 "of the machine's memory")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(positive());
  app.add_flag("--truncate", options.truncate,
               "Truncate texts longer than the model's maximum: prompts at the start, inputs of an "
               "encoder-decoder at the end. By default they are errors");
  options.bad.add_option(app);
  app.add_flag("--json", options.json,
               "Print one object per prompt: {\"prompt\", \"texts\": [{\"text\", \"ids\", \"score\"}]}");
  app.add_flag_function(
      "--log-probabilities",
      [&options](std::int64_t) {
        options.fields["output_scores"] = true;
        options.json = true;
      },
      "As --json, with the log-probability of every token");
  CLI::Option* inputs = app.add_option(
      "--inputs", options.inputs, "A safetensors file with input_ids and attention_mask, instead of prompts");
  CLI::Option* outputs = app.add_option("--outputs", options.outputs,
                                        "The safetensors file to write: sequences, sequences_scores and with "
                                        "--log-probabilities transition_scores");
  add_state_flag(app, options, "--attentions", "output_attentions", "attention weights")->needs(outputs);
  add_state_flag(app, options, "--hidden-states", "output_hidden_states", "result")->needs(outputs);
  inputs->needs(outputs);
  outputs->needs(inputs);
  inputs->excludes(prefix)->excludes(negative);  // tensors have decoder_input_ids, negative_prompt_ids
}

GenerationConfig make_config(const PretrainedModel& model, const GenerateArguments& options) {
  GenerationConfig config = generation_config_of(model);
  if (!options.config_file.empty())
    apply_fields(config, Fields(read_json(options.config_file), options.config_file), FieldsFrom::caller);
  apply_fields(config, Fields(options.fields, "the options"), FieldsFrom::caller);
  return config;
}

// The prompts of a call.
struct Texts {
  PromptTexts reading;
  GivenTexts given;
  std::vector<Prompt> prompts;  // empty for bad texts

  Texts(const GenerateArguments& options, const TokenizerPair& tokenizers, const PretrainedModel& model,
        const GenerationConfig& config)
      : reading(model, tokenizers, config), given(options.prompts), prompts(given.size()) {
    reading.begin_with(options.prefix);
    reading.lead_away_from(options.negative);
    options.adapters.check(given.size());
    const std::optional<LongestText> longest =
        options.truncate ? std::make_optional<LongestText>(model.source(), model) : std::nullopt;
    given.answer([&](GivenTexts::Numbers numbers) {
      std::vector<Prompt> some = reading.read(given.some(numbers), true, longest ? &*longest : nullptr);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        some[i].adapter = options.adapters[numbers[i]];
        prompts[numbers[i]] = std::move(some[i]);
      }
    });
  }
};

void stream_text(const PretrainedModel& model, const Texts& texts, const GenerationConfig& config,
                 GenerateOptions options) {
  TextStream stream = texts.reading.stream(texts.prompts[0]);
  std::string prompt = texts.reading.before(texts.given[0]);  // written with the first token, because errors
                                                              // may occur before it
  options.on_token = [&](std::size_t, std::size_t, std::int64_t token) {
    write_now(std::exchange(prompt, {}) + stream.put(static_cast<TokenId>(token)));
  };
  generate(model, texts.prompts, config, options);
  write_now(stream.finish() + "\n");
}

void print_texts_of(std::size_t i, const Texts& texts, std::span<const GeneratedSequence> all,
                    const GenerationConfig& config, bool json) {
  Json results = Json::array();
  for (const GeneratedSequence& generated : all) {
    const std::string text =
        texts.reading.before(texts.given[i]) + texts.reading.text(texts.prompts[i], generated.ids);
    if (!json) print_line(text);
    results.push_back({{"text", text}, {"ids", generated.ids}});
    if (config.num_beams > 1) results.back()["score"] = generated.score;
    if (config.output_scores) results.back()["log_probabilities"] = generated.log_probabilities;
  }
  if (json) print_line(Json{{"prompt", texts.given[i]}, {"texts", results}}.dump());
}

// Prints texts in the order of the prompts, each as soon as all earlier ones are done. A bad prompt gets an
// empty line, or an object with its error.
void print_texts(const PretrainedModel& model, Texts& texts, const GenerationConfig& config,
                 GenerateArguments& options) {
  std::map<std::size_t, std::vector<GeneratedSequence>> early;
  std::size_t next = 0;
  const auto print = [&] {
    for (; next < texts.given.size(); ++next) {
      if (const std::string& error = texts.given.error(next); !error.empty()) {
        options.bad.report(error);
        print_line(options.json ? Json{{"prompt", texts.given[next]}, {"error", error}}.dump() : "");
      } else if (early.contains(next)) {
        print_texts_of(next, texts, early.extract(next).mapped(), config, options.json);
      } else {
        break;
      }
    }
    std::fflush(stdout);
  };
  texts.given.answer([&](GivenTexts::Numbers numbers) {
    std::vector<std::size_t> left;  // the unprinted ones: a failed call may have printed some
    std::vector<Prompt> prompts;
    for (const std::size_t i : numbers)
      if (i >= next) {
        left.push_back(i);
        prompts.push_back(texts.prompts[i]);
      }
    GenerateOptions generation = options.generation;
    generation.on_result = [&](std::size_t i, std::span<const GeneratedSequence> results) {
      early[left[i]].assign(results.begin(), results.end());
      print();
    };
    generate(model, prompts, config, generation);
  });
  print();
}

}  // namespace

int generate(int argc, char** argv) {
  GenerateArguments options;
  Shard shard;
  Parser parser("generate",
                "Continues a text, or generates an encoder-decoder's output. A single text is printed while "
                "it is generated.",
                "attend generate gpt2 'Once upon a time' --max-new-tokens 50 --temperature 0.8");
  add_options(parser.app(), options);
  shard.add_options(parser.app());
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (!shard.begin(!options.prompts.empty() || !options.inputs.empty())) return 0;
  options.generation.seed = options.seed ? *options.seed : std::random_device()();

  const ModelDirectory directory(options.model);
  const PretrainedModel model = PretrainedModel::load(directory, Purpose::inference);
  check_generates(model);
  GenerationConfig config = make_config(model, options);
  std::optional<TokenizerPair> tokenizers;
  if (options.inputs.empty() || !config.stop_strings.empty() || config.form ||
      !options.forced_words.empty()) {
    tokenizers = TokenizerPair::from_file(directory.path());
    options.generation.tokenizer = tokenizers->target.get();
  }
  for (const std::string& word : options.forced_words)
    config.force_words_ids.push_back(forced_word(*tokenizers->target, word));
  std::optional<PretrainedModel> assistant;
  std::optional<TokenizerPair> assistant_tokenizers;
  if (!options.assistant.empty()) {
    assistant.emplace(PretrainedModel::load(ModelDirectory(on_device_of(options.model, options.assistant)),
                                            Purpose::inference));
    options.generation.assistant.model = &*assistant;
    if (tokenizers) {
      assistant_tokenizers = TokenizerPair::from_file(options.assistant);
      if (!same_tokens(*tokenizers->source, *assistant_tokenizers->source) ||
          !same_tokens(*tokenizers->target, *assistant_tokenizers->target)) {
        options.generation.assistant.tokenizers = &*tokenizers;
        options.generation.assistant.assistant_tokenizers = &*assistant_tokenizers;
      }
    }
  }
  if (!options.inputs.empty()) {
    const auto given = read_tensors(options.inputs);
    write_tensors(options.outputs, naming_file(options.inputs, [&] {
                    return run_generate(model, given, config, options.generation);
                  }));
    return 0;
  }
  Texts texts(options, *tokenizers, model, config);
  const bool streams = texts.prompts.size() == 1 && texts.given.error(0).empty() && !options.json &&
                       config.num_beams == 1 && config.num_return_sequences == 1;
  if (streams)
    stream_text(model, texts, config, options.generation);
  else
    print_texts(model, texts, config, options);
  return shard.finish(options.bad.status());
}

}  // namespace attend::cli
