#include "serve/models/served_model.h"

#include "base/error.h"
#include "generation/config/config.h"
#include "models/checkpoint/pretrained_model.h"
#include "serve/models/language_pairs.h"
#include "serve/models/text_judge.h"

#include <algorithm>
#include <atomic>
#include <tuple>

namespace attend::serve {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

// "models/tuned/" has the name "tuned".
std::string name_of(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace

NamedModel with_names(NamedModel named) {
  if (named.name.empty()) named.name = name_of(named.path.directory);
  if (named.adapters.empty())
    for (const AdapterPath& adapter : named.path.adapters)
      named.adapters.push_back(name_of(adapter.directory));
  return named;
}

ServedModel::ServedModel(const NamedModel& named, const QueueOptions& options, const ServedModel* before)
    : name_(named.name),
      adapters_(named.adapters),
      number_(next_number()),
      model_(named.path),
      figures_(before != nullptr ? before->figures_ : std::make_shared<TextFigures>()),
      gathered_([this](const std::vector<TextToRead>& texts) { return embed_now(texts); }),
      gathered_prompts_([this](const std::vector<PromptToScore>& prompts) { return score_now(prompts); }) {
  const PretrainedModel& loaded = *ModelPath(model_).loaded;
  if (!adapters_.empty() && loaded.adapters().size() != adapters_.size())
    fail("{}: expected the directory of a model, found one of an adapter: serve its model with both adapters",
         named.path.directory.string());
  judge_ = std::make_unique<TextJudge>(*this);
  if (model_.generates()) begin_queue(loaded, options);
  languages_ = std::make_unique<ModelLanguages>(*this);
}

ServedModel::~ServedModel() = default;

void ServedModel::begin_queue(const PretrainedModel& loaded, const QueueOptions& options) {
  queue_ = std::make_unique<GenerationQueue>(model_, options);
  const GenerationConfig config = generation_config_of(loaded);
  own_ = {config.do_sample, config.num_beams, config.max_length || config.max_new_tokens};
  const Transformer network = loaded.network();
  longest_prompt_ =
      static_cast<std::size_t>((network->decoder ? network->decoder : network->encoder)->max_positions());
  is_encoder_decoder_ = network->is_encoder_decoder();
  if (config.bos_token_id) bos_ = static_cast<TokenId>(*config.bos_token_id);
}

std::vector<TokenId> ServedModel::prompt_ids(const std::string& text) const {
  std::vector<TokenId> ids = model_.tokenizers().source->encode(text, {.with_details = false}).ids;
  if (ids.empty() && bos_) ids = {*bos_};
  return ids;
}

const TokenNames& ServedModel::token_names() {
  const std::lock_guard lock(making_);
  if (!token_names_) token_names_.emplace(model_.tokenizers().target);
  return *token_names_;
}

std::vector<ReportedToken> ServedModel::report(const std::vector<TokenId>& prompt,
                                               std::optional<std::int64_t> adapter, std::size_t likeliest) {
  if (prompt.empty()) return {};
  if (prompt.size() > longest_prompt_)
    fail("the prompt has {} tokens, but the model reads {}: shorten it", prompt.size(), longest_prompt_);
  std::vector<ReportedToken> report = {{prompt.front()}};
  std::vector<std::vector<TokenProbability>> scores = gathered_prompts_.ask({{prompt, adapter, likeliest}});
  for (TokenProbability& each : scores.front())
    report.push_back({each.token, each.log_probability, std::move(each.likeliest)});
  return report;
}

std::vector<std::vector<TokenProbability>> ServedModel::score_now(const std::vector<PromptToScore>& prompts) {
  {
    const std::lock_guard lock(making_);
    if (!scorer_) scorer_.emplace(model_);
  }
  using Key = std::pair<std::optional<std::int64_t>, std::size_t>;
  std::vector<Key> keys;
  for (const PromptToScore& prompt : prompts) keys.emplace_back(prompt.adapter, prompt.likeliest);
  using Scores = std::vector<TokenProbability>;
  return by_key<Scores>(keys, [&](const Key& key, const std::vector<std::size_t>& numbers) {
    std::vector<std::vector<TokenId>> ids;
    std::size_t longest = 2;  // each is read in one step
    for (const std::size_t i : numbers) {
      ids.push_back(prompts[i].ids);
      longest = std::max(longest, ids.back().size());
    }
    ScoreTextOptions options;
    std::tie(options.adapter, options.likeliest) = key;
    options.length = static_cast<std::int64_t>(longest);
    return scorer_->score_tokens(ids, options);
  });
}

Embedder& ServedModel::loaded_embedder() {
  const std::lock_guard lock(making_);
  if (!embedder_) embedder_.emplace(model_);
  return *embedder_;
}

ServedModel::Vectors ServedModel::embed(const std::vector<std::string>& texts, const EmbedOptions& options) {
  const auto shared = std::make_shared<const EmbedOptions>(options);
  std::vector<TextToRead> all;
  for (const std::string& text : texts) all.push_back({text, shared});
  return gathered_.ask(std::move(all));
}

ServedModel::Vectors ServedModel::embed_now(const std::vector<TextToRead>& texts) {
  // Texts with the same settings go through the model together.
  const auto key_of = [](const EmbedOptions& options) {
    return std::tie(options.adapter, options.role, options.prompt_name, options.prompt, options.dimensions,
                    options.normalize, options.truncate);
  };
  std::vector<decltype(key_of(EmbedOptions()))> keys;
  for (const TextToRead& text : texts) keys.push_back(key_of(*text.options));
  return by_key<std::vector<float>>(keys, [&](const auto&, const std::vector<std::size_t>& numbers) {
    std::vector<std::string> some;
    for (const std::size_t i : numbers) some.push_back(texts[i].text);
    return loaded_embedder().embed(some, *texts[numbers.front()].options);
  });
}

}  // namespace attend::serve
