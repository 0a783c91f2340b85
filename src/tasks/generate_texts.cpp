// Generated texts: continuations, or outputs of an encoder-decoder.
#include <attend/tasks.h>

#include "base/characters.h"
#include "base/log.h"
#include "generation/generate.h"
#include "generation/text_stream.h"
#include "tasks/generating_model.h"
#include "tasks/languages.h"
#include "tasks/texts/prompt_texts.h"
#include "tasks/texts/text_batches.h"
#include "tasks/translate.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/text/clean_up.h"

#include <map>
#include <utility>

namespace attend {
namespace {

// "translation_en_to_de" and so on: the name of a task in task_specific_params.
std::string name_of(GenerationTask task, const std::string& pair) {
  switch (task) {
    case GenerationTask::text_generation:
      return "text-generation";
    case GenerationTask::text2text_generation:
      return "text2text-generation";
    case GenerationTask::summarization:
      return "summarization";
    case GenerationTask::translation:
      return pair.empty() ? "translation" : "translation_" + pair;
  }
  fail("unknown task");
}

}  // namespace

struct TextGenerator::State : GeneratingModel {
  GenerationTask task;
  std::string prefix;  // of every text
  Languages languages;
  std::optional<std::int64_t> source_language;  // for every text, instead of the tokenizer's own
  bool has_settings = false;                    // whether the model has settings for this task

  State(const ModelDirectory& directory, GenerationTask wanted, const std::string& pair)
      : GeneratingModel(directory), task(wanted), languages(tokenizers, directory.path()) {
    if (continues() == model.network()->is_encoder_decoder())
      fail("{}: {} takes {}, found {}", directory.path().string(), name_of(task, {}),
           continues() ? "a decoder such as GPT-2" : "an encoder-decoder such as BART or T5",
           model.architecture());
    prefix = directory.config().text({"prefix"}, "");
    read_settings(directory, name_of(task, pair));
    if (task == GenerationTask::translation) choose_languages(directory, pair);
  }

  bool continues() const { return task == GenerationTask::text_generation; }

  // As in transformers' pipelines: the pipeline's settings override the model's, except for a length; the
  // model's settings for this task override both.
  void read_settings(const ModelDirectory& directory, const std::string& name) {
    if (config.max_length)
      config.max_new_tokens.reset();
    else
      config.max_new_tokens = 256;
    if (continues()) {
      config.do_sample = true;
      config.temperature = 0.7;
    } else {
      config.num_beams = 4;
    }
    const Json& all = directory.config().json();
    const std::string field = "task_specific_params";
    if (all.contains(field) && all.at(field).is_object() && all.at(field).contains(name)) {
      Json own = all.at(field).at(name);
      has_settings = true;
      if (!own.is_object()) fail("{}: {}.{}: expected an object", directory.config().source(), field, name);
      if (own.contains("prefix") && own.at("prefix").is_string())
        prefix = own.at("prefix").get<std::string>();
      own.erase("prefix");
      apply_fields(config, Fields(own, fmt::format("{}: {}.{}", directory.config().source(), field, name)),
                   FieldsFrom::model);
    }
    const std::string padding = tokenizers::TokenizerConfig(directory.path()).token("pad_token", "");
    if (!config.pad_token_id && !padding.empty())
      config.pad_token_id = tokenizers.source->token_to_id(padding);
  }

  // "en_to_de", for a model with language tokens; other models need settings for the task.
  void choose_languages(const ModelDirectory& directory, const std::string& pair) {
    const std::size_t to = pair.find("_to_");
    const LanguagePair names =
        to == pair.npos ? LanguagePair{} : LanguagePair{pair.substr(0, to), pair.substr(to + 4)};
    if (languages.many())
      source_language = languages.choose(names, config);
    else if (!pair.empty() && !has_settings)
      warn("{}: the model has one way to translate, and {} makes no difference to it",
           directory.path().string(), pair);
  }

  std::string decode(std::span<const TokenId> ids) const {
    std::string text = tokenizers.target->decode(ids, /*skip_special_tokens=*/true);
    if (continues()) tokenizers::clean_up(text);
    return text;
  }

  // The text after the prompt. It is decoded together with the prompt, because a token's text depends on the
  // tokens before it.
  std::string without_prompt(std::vector<TokenId> prompt, std::span<const TokenId> ids) const {
    const std::size_t before = Characters(decode(prompt)).size();
    prompt.insert(prompt.end(), ids.begin(), ids.end());
    const std::string whole = decode(prompt);
    const Characters characters(whole);
    return characters.slice(before, characters.size());
  }
};

TextGenerator::TextGenerator(const ModelPath& model, GenerationTask task, const std::string& pair)
    : state_(std::make_shared<State>(ModelDirectory(model), task, pair)) {}

std::vector<std::vector<std::string>> TextGenerator::generate(const std::vector<std::string>& texts,
                                                              const GenerateTextOptions& options) const {
  std::vector<std::vector<std::string>> results;
  for (const auto& all : generate_tokens(texts, options)) {
    results.emplace_back();
    for (const GeneratedText& each : all) results.back().push_back(each.text);
  }
  return results;
}

std::vector<std::vector<GeneratedText>> TextGenerator::generate_tokens(
    const std::vector<std::string>& texts, const GenerateTextOptions& options) const {
  const State& state = *state_;
  GenerationConfig config = state.config;
  apply_changes(config, options.configure);
  config.output_scores = config.output_scores || options.log_probabilities;
  const ErrorScope scope(ErrorKind::input);
  std::vector<std::string> inputs;
  for (const std::string& text : texts) inputs.push_back(state.prefix + text);
  std::vector<std::vector<std::int64_t>> ids =
      state.continues()
          ? encode_texts(*state.tokenizers.source, inputs)
          : encode_sources(state.model, *state.tokenizers.source, inputs, &state.longest, options.truncate);
  if (state.source_language)
    for (auto& source : ids) state.languages.write_source(source, *state.source_language);
  for (auto& prompt : ids)
    if (prompt.empty() && state.continues() && config.bos_token_id) prompt = {*config.bos_token_id};
  if (options.truncate && state.continues())
    for (auto& prompt : ids) keep_end(prompt, state.longest, config);

  std::vector<std::vector<GeneratedText>> results(texts.size());
  std::size_t done = 0;
  GenerateOptions generation;
  generation.rule = options.rule;
  generation.seed = options.seed;
  generation.tokenizer = state.tokenizers.target.get();
  generation.batch_tokens = options.batch_tokens;
  generation.cache.bytes = options.cache_bytes.value_or(generation.cache.bytes);
  generation.stop = options.stop;
  std::map<std::pair<std::size_t, std::size_t>, TextStream> streams;
  if (options.on_token)
    generation.on_token = [&](std::size_t i, std::size_t sequence, std::int64_t token) {
      const auto id = static_cast<TokenId>(token);
      std::vector<TokenId> before;  // decoders only: the tokens that the text continues
      if (state.continues()) before.assign(ids[i].begin(), ids[i].end());
      TextStream& stream =
          streams.try_emplace({i, sequence}, *state.tokenizers.target, std::move(before)).first->second;
      options.on_token(i, sequence, id, stream.put(id));
    };
  generation.on_result = [&](std::size_t i, std::span<const GeneratedSequence> sequences) {
    for (const GeneratedSequence& sequence : sequences) {
      const std::vector<TokenId> made(sequence.ids.begin(), sequence.ids.end());
      std::string text =
          state.continues() ? state.without_prompt({ids[i].begin(), ids[i].end()}, made) : state.decode(made);
      GeneratedText result = generated_text(sequence, std::move(text), config, options.log_probabilities);
      if (state.continues() && options.full_text) result.text = texts[i] + result.text;
      results[i].push_back(std::move(result));
    }
    if (options.on_progress) options.on_progress(++done, texts.size());
  };
  std::vector<Prompt> prompts;
  for (const auto& each : ids) {
    prompts.push_back({each, {}, {}});
    prompts.back().adapter = options.adapter;
  }
  attend::generate(state.model, prompts, config, generation);
  return results;
}

}  // namespace attend
