#include "tasks/translate.h"

#include "generation/generate.h"
#include "tasks/generating_model.h"
#include "tasks/texts/text_batches.h"

namespace attend {

std::vector<std::vector<std::int64_t>> encode_sources(const PretrainedModel& model,
                                                      const Tokenizer& tokenizer,
                                                      const std::vector<std::string>& texts,
                                                      const LongestText* longest, bool truncate) {
  const ErrorScope scope(ErrorKind::input);
  const auto max = static_cast<std::size_t>(model.network()->encoder->max_positions());
  auto sources = encode_texts(tokenizer, texts);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (longest != nullptr && truncate) longest->cut(sources[i], tokenizer, texts[i]);
    if (sources[i].size() > max)
      fail("{} has {} tokens, but the model reads {}: shorten it, or cut it off with `truncate`",
           name_of_text(i, texts.size()), sources[i].size(), max);
  }
  return sources;
}

std::vector<std::vector<std::string>> translate_several(
    const PretrainedModel& model, const TokenizerPair& tokenizers, const std::vector<std::string>& texts,
    const TranslateOptions& options, const Languages* languages, const LongestText* longest) {
  GenerationConfig config = generation_config_of(model);
  apply_changes(config, options.configure);
  std::optional<std::int64_t> source_language;
  if (languages != nullptr)
    source_language = languages->choose({options.source_language, options.target_language}, config);
  const std::vector<std::int64_t> written = options.prefix.empty()
                                                ? std::vector<std::int64_t>()
                                                : forced_prefix(*tokenizers.target, config, options.prefix);
  std::vector<Prompt> prompts;
  for (auto& ids : encode_sources(model, *tokenizers.source, texts, longest, options.truncate)) {
    if (source_language) languages->write_source(ids, *source_language);
    prompts.push_back({std::move(ids), {}, {}, written});
    prompts.back().adapter = options.adapter;
  }
  std::vector<std::vector<std::string>> translations(texts.size());
  std::size_t done = 0;
  GenerateOptions generate_options;
  generate_options.seed = options.seed;
  generate_options.batch_tokens = options.batch_tokens;
  generate_options.tokenizer = tokenizers.target.get();
  generate_options.on_result = [&](std::size_t i, std::span<const GeneratedSequence> results) {
    for (const GeneratedSequence& result : results) {
      std::vector<TokenId> ids(written.begin(), written.end());
      if (result.ids.empty()) ids.clear();  // this rank has no result
      ids.insert(ids.end(), result.ids.begin(), result.ids.end());
      translations[i].push_back(tokenizers.target->decode(ids, /*skip_special_tokens=*/true));
    }
    if (options.on_progress) options.on_progress(++done, texts.size());
  };
  generate(model, prompts, config, generate_options);
  return translations;
}

std::vector<std::string> translate(const PretrainedModel& model, const TokenizerPair& tokenizers,
                                   const std::vector<std::string>& texts, const TranslateOptions& options) {
  std::vector<std::string> best;
  for (auto& all : translate_several(model, tokenizers, texts, options)) best.push_back(std::move(all[0]));
  return best;
}

struct Translator::State : GeneratingModel {
  Languages languages;

  explicit State(const ModelDirectory& directory)
      : GeneratingModel(directory), languages(tokenizers, directory.path()) {
    if (!model.network()->is_encoder_decoder())
      fail("{}: expected a model that translates, an encoder-decoder such as Marian, found {}",
           directory.path().string(), model.architecture());
  }
};

Translator::Translator(const ModelPath& model) : state_(std::make_shared<State>(ModelDirectory(model))) {}

std::vector<std::string> Translator::translate(const std::vector<std::string>& texts,
                                               const TranslateOptions& options) {
  std::vector<std::string> best;
  for (auto& all : translate_several(texts, options)) best.push_back(std::move(all[0]));
  return best;
}

std::vector<std::vector<std::string>> Translator::translate_several(const std::vector<std::string>& texts,
                                                                    const TranslateOptions& options) {
  return attend::translate_several(state_->model, state_->tokenizers, texts, options, &state_->languages,
                                   &state_->longest);
}

}  // namespace attend
