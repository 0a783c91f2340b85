#include "serve/served_model.h"

#include "base/error.h"
#include "generation/config/config.h"
#include "models/pretrained_model.h"
#include "serve/request_log.h"
#include "serve/server.h"

#include <algorithm>
#include <ctime>
#include <tuple>

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

// "models/tuned/" is called tuned.
std::string name_of(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

void check_different(std::vector<std::string> names) {
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    fail("two are called {}: expected names that differ (NAME=MODEL)", *twice);
}

}  // namespace

ServedModel::ServedModel(const NamedModel& named, const QueueOptions& options)
    : name_(named.name.empty() ? name_of(named.path.directory) : named.name),
      model_(named.path),
      gathered_([this](const std::vector<TextToRead>& texts) { return embed_now(texts); }),
      gathered_prompts_([this](const std::vector<PromptToScore>& prompts) { return score_now(prompts); }) {
  for (const AdapterPath& adapter : named.path.adapters) adapters_.push_back(name_of(adapter.directory));
  if (!model_.generates()) return;
  queue_ = std::make_unique<GenerationQueue>(model_, options);
  const GenerationConfig config = GenerationConfig::of(*ModelPath(model_).loaded);
  own_ = {config.do_sample, config.num_beams, config.max_length || config.max_new_tokens};
  const Transformer network = ModelPath(model_).loaded->network();
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
    std::size_t longest = 2;  // each is read at once
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
  // Texts that are read alike go through the model together.
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

ServedModels::ServedModels(const std::vector<NamedModel>& models, const QueueOptions& options) {
  for (const NamedModel& named : models) models_.push_back(std::make_unique<ServedModel>(named, options));
  check_different(names());
}

Asked ServedModels::find(const Fields& body) const {
  const std::string name = body.text({"model"}, models_.size() == 1 ? models_.front()->name() : "");
  present_request().facts["model"] = name;
  for (const auto& model : models_) {
    const std::vector<std::string>& adapters = model->adapters();
    if (name == model->name()) return {*model, name, adapters.empty() ? std::nullopt : std::optional(-1)};
    if (const auto adapter = std::ranges::find(adapters, name); adapter != adapters.end())
      return {*model, name, adapter - adapters.begin()};
  }
  refuse(404, name.empty()
                  ? fmt::format("model: expected one of {}, found none", fmt::join(names(), ", "))
                  : fmt::format("model: there is no {}; there are {}", name, fmt::join(names(), ", ")));
}

Json ServedModels::list() const {
  Json data = Json::array();
  for (const std::string& name : names()) data.push_back(entry(name));
  return {{"object", "list"}, {"data", data}};
}

Json ServedModels::entry(const std::string& name) const {
  static const std::time_t began = std::time(nullptr);
  if (const std::vector<std::string> all = names(); std::ranges::find(all, name) == all.end())
    refuse(404, fmt::format("model: there is no {}; there are {}", name, fmt::join(all, ", ")));
  return {{"id", name}, {"object", "model"}, {"created", began}, {"owned_by", "attend"}};
}

RequestField ServedModels::field() const {
  const bool may_be_missing = models_.size() == 1;
  return {"model", schema::text(),
          "the name of a model or an adapter, one of those of /v1/models" +
              std::string(may_be_missing ? "; may be missing" : "")};
}

std::vector<std::string> ServedModels::names() const {
  std::vector<std::string> names;
  for (const auto& model : models_) {
    names.push_back(model->name());
    names.insert(names.end(), model->adapters().begin(), model->adapters().end());
  }
  return names;
}

}  // namespace attend::serve
