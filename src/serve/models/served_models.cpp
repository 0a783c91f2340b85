#include "serve/models/served_models.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "serve/http/request_log.h"
#include "serve/http/server.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

void check_different(std::vector<std::string> names) {
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    fail("two are called {}: expected names that differ (NAME=MODEL)", *twice);
}

std::vector<std::string> names_of(const std::vector<std::shared_ptr<ServedModel>>& models) {
  std::vector<std::string> names;
  for (const auto& model : models) {
    names.push_back(model->name());
    names.insert(names.end(), model->adapters().begin(), model->adapters().end());
  }
  return names;
}

// Or one of its adapters.
bool is_called(const NamedModel& named, const std::string& name) {
  return name == named.name || std::ranges::find(named.adapters, name) != named.adapters.end();
}

std::vector<NamedModel> all_with_names(std::vector<NamedModel> models) {
  std::vector<std::string> names;
  for (NamedModel& model : models) {
    model = with_names(std::move(model));
    names.push_back(model.name);
    names.insert(names.end(), model.adapters.begin(), model.adapters.end());
  }
  check_different(std::move(names));
  return models;
}

}  // namespace

ServedModels::ServedModels(const std::vector<NamedModel>& models, const QueueOptions& options)
    : options_(options),
      named_(all_with_names(models)),
      only_(named_.size() == 1 ? named_.front().name : "") {
  cleaner_ = std::jthread([this](const std::stop_token& stop) { clean(stop); });
}

ServedModels::~ServedModels() {
  cleaner_.request_stop();
  cleaner_.join();
}

void ServedModels::load() {
  for (const NamedModel& named : named_) {
    if (interrupted()) return;
    const auto model = std::make_shared<ServedModel>(named, options_);
    const std::lock_guard lock(mutex_);
    models_.push_back(model);
  }
}

std::vector<std::string> ServedModels::loading() const {
  std::vector<std::string> names;
  for (const NamedModel& named : not_loaded(all())) names.push_back(named.name);
  return names;
}

std::span<const NamedModel> ServedModels::not_loaded(const std::vector<Model>& loaded) const {
  return std::span(named_).subspan(loaded.size());
}

// Destroys models that were replaced, here and not where their last request ends: that may be on their own
// thread.
void ServedModels::clean(const std::stop_token& stop) {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !replaced_.empty(); }) && !stop.stop_requested()) {
    const auto idle =
        std::ranges::find_if(replaced_, [](const Model& model) { return model.use_count() == 1; });
    if (idle == replaced_.end()) {
      changed_.wait_for(lock, stop, 100ms, [] { return false; });
      continue;
    }
    Model last = std::move(*idle);
    replaced_.erase(idle);
    lock.unlock();
    last.reset();
    lock.lock();
  }
}

std::vector<std::shared_ptr<ServedModel>> ServedModels::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

ChosenModel ServedModels::find(const Fields& body) const {
  const std::string name = body.text({"model"}, only_);
  present_request().facts["model"] = name;
  const std::vector<Model> models = all();
  for (const Model& model : models) {
    const std::vector<std::string>& adapters = model->adapters();
    if (name == model->name())
      return {*model, name, adapters.empty() ? std::nullopt : std::optional(-1), model};
    if (const auto adapter = std::ranges::find(adapters, name); adapter != adapters.end())
      return {*model, name, adapter - adapters.begin(), model};
  }
  refuse_name(name, models, names_of(models));
}

void ServedModels::refuse_name(const std::string& name, const std::vector<Model>& loaded,
                               const std::vector<std::string>& known) const {
  for (const NamedModel& named : not_loaded(loaded))
    if (is_called(named, name))
      refuse(503, fmt::format("model: {} is not loaded yet: try again later", name));
  const std::string there =
      known.empty() ? "none; models are being loaded" : fmt::format("{}", fmt::join(known, ", "));
  refuse(404, name.empty() ? fmt::format("model: expected one of {}, found none", there)
                           : fmt::format("model: there is no {}; there are {}", name, there));
}

Json ServedModels::list() const {
  Json data = Json::array();
  for (const std::string& name : names_of(all())) data.push_back(entry(name));
  return {{"object", "list"}, {"data", data}};
}

Json ServedModels::entry(const std::string& name) const {
  static const std::time_t began = std::time(nullptr);
  const std::vector<Model> models = all();
  for (const Model& model : models) {
    Json entry = {{"id", name}, {"object", "model"}, {"created", began}, {"owned_by", "attend"}};
    if (name == model->name()) return entry;
    entry["parent"] = model->name();
    if (std::ranges::find(model->adapters(), name) != model->adapters().end()) return entry;
  }
  refuse_name(name, models, names_of(models));
}

RequestField ServedModels::field() const {
  const bool may_be_missing = !only_.empty();
  return {"model", schema::text(),
          "the name of a model or an adapter, one of those of /v1/models" +
              std::string(may_be_missing ? "; may be missing" : "")};
}

ServedModels::Model ServedModels::base(const std::string& name) const {
  const std::string wanted = name.empty() ? only_ : name;
  std::vector<std::string> bases;
  const std::vector<Model> models = all();
  for (const Model& model : models) {
    if (wanted == model->name()) return model;
    bases.push_back(model->name());
  }
  refuse_name(wanted, models, bases);
}

// The others do not wait, because they would keep the worker threads that all requests need.
std::unique_lock<std::mutex> ServedModels::begin_change() {
  std::unique_lock lock(changing_, std::try_to_lock);
  if (!lock) refuse(429, "another adapter is being loaded or unloaded: try again later");
  return lock;
}

void ServedModels::load_adapter(const std::string& model, const std::string& name,
                                const std::filesystem::path& directory, std::size_t max_adapters) {
  const auto change = begin_change();
  const Model before = base(model);
  const auto has_name = [&](const NamedModel& named) { return is_called(named, name); };
  const std::vector<Model> models = all();
  if (const std::vector<std::string> names = names_of(models);
      std::ranges::find(names, name) != names.end() || std::ranges::any_of(not_loaded(models), has_name))
    refuse(400, fmt::format("lora_name: {} is loaded already", name));
  if (before->adapters().size() >= max_adapters)
    refuse(400, fmt::format("{} has {} adapters already, and at most {} may be loaded: unload one",
                            before->name(), before->adapters().size(), max_adapters));
  NamedModel after{before->name(), before->model(), before->adapters()};
  after.adapters.push_back(name);
  after.path.adapters.push_back({directory});
  try {
    replace(before, after);
  } catch (const Error& error) {  // the client is responsible for the file
    refuse(400, error.what());
  }
}

void ServedModels::unload_adapter(const std::string& name) {
  const auto change = begin_change();
  std::vector<std::string> known;
  for (const Model& before : all()) {
    const std::vector<std::string>& adapters = before->adapters();
    known.insert(known.end(), adapters.begin(), adapters.end());
    const auto found = std::ranges::find(adapters, name);
    if (found == adapters.end()) continue;
    const auto place = found - adapters.begin();
    NamedModel after{before->name(), before->model(), adapters};
    after.adapters.erase(after.adapters.begin() + place);
    after.path.adapters.erase(after.path.adapters.begin() + place);
    return replace(before, after);
  }
  refuse(404, fmt::format("lora_name: there is no adapter {}; there are {}", name,
                          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

void ServedModels::replace(const Model& before, const NamedModel& after) {
  const auto model = std::make_shared<ServedModel>(after, options_, before.get());
  const std::lock_guard lock(mutex_);
  *std::ranges::find(models_, before) = model;
  replaced_.push_back(before);
  changed_.notify_all();
}

}  // namespace attend::serve
