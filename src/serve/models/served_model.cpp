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
  const GenerationConfig config = GenerationConfig::of(loaded);
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
  std::map<std::pair<std::optional<std::int64_t>, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    groups[{prompts[i].adapter, prompts[i].likeliest}].push_back(i);
  std::vector<std::vector<TokenProbability>> scores(prompts.size());
  for (const auto& [how, numbers] : groups) {
    std::vector<std::vector<TokenId>> ids;
    std::size_t longest = 2;  // each is read in one step
    for (const std::size_t i : numbers) {
      ids.push_back(prompts[i].ids);
      longest = std::max(longest, ids.back().size());
    }
    ScoreTextOptions options;
    options.adapter = how.first;
    options.likeliest = how.second;
    options.length = static_cast<std::int64_t>(longest);
    auto theirs = scorer_->score_tokens(ids, options);
    for (std::size_t i = 0; i < numbers.size(); ++i) scores[numbers[i]] = std::move(theirs[i]);
  }
  return scores;
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
  const auto alike = [](const EmbedOptions& options) {
    return std::tie(options.adapter, options.role, options.prompt_name, options.prompt, options.dimensions,
                    options.normalize, options.truncate);
  };
  const auto before = [&](const EmbedOptions* a, const EmbedOptions* b) { return alike(*a) < alike(*b); };
  std::map<const EmbedOptions*, std::vector<std::size_t>, decltype(before)> groups(before);
  for (std::size_t i = 0; i < texts.size(); ++i) groups[texts[i].options.get()].push_back(i);
  Vectors vectors(texts.size());
  for (const auto& [options, numbers] : groups) {
    std::vector<std::string> some;
    for (const std::size_t i : numbers) some.push_back(texts[i].text);
    Vectors theirs = loaded_embedder().embed(some, *options);
    for (std::size_t i = 0; i < numbers.size(); ++i) vectors[numbers[i]] = std::move(theirs[i]);
  }
  return vectors;
}

}  // namespace attend::serve
