#include "serve/served_models.h"

#include "base/error.h"
#include "serve/request_log.h"
#include "serve/server.h"

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

[[noreturn]] void refuse_unknown(const std::string& name, const std::vector<std::string>& names) {
  refuse(404, name.empty()
                  ? fmt::format("model: expected one of {}, found none", fmt::join(names, ", "))
                  : fmt::format("model: there is no {}; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace

ServedModels::ServedModels(const std::vector<NamedModel>& models, const QueueOptions& options)
    : options_(options) {
  for (const NamedModel& named : models) models_.push_back(std::make_shared<ServedModel>(named, options));
  check_different(names());
  cleaner_ = std::jthread([this](const std::stop_token& stop) { clean(stop); });
}

ServedModels::~ServedModels() {
  cleaner_.request_stop();
  cleaner_.join();
}

// Destroys replaced models on this thread, not where their last request ends, because that may be one of
// their own threads.
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

Asked ServedModels::find(const Fields& body) const {
  const std::vector<Model> models = all();
  const std::string name = body.text({"model"}, models.size() == 1 ? models.front()->name() : "");
  present_request().facts["model"] = name;
  for (const Model& model : models) {
    const std::vector<std::string>& adapters = model->adapters();
    if (name == model->name())
      return {*model, name, adapters.empty() ? std::nullopt : std::optional(-1), model};
    if (const auto adapter = std::ranges::find(adapters, name); adapter != adapters.end())
      return {*model, name, adapter - adapters.begin(), model};
  }
  refuse_unknown(name, names());
}

Json ServedModels::list() const {
  Json data = Json::array();
  for (const std::string& name : names()) data.push_back(entry(name));
  return {{"object", "list"}, {"data", data}};
}

Json ServedModels::entry(const std::string& name) const {
  static const std::time_t began = std::time(nullptr);
  for (const Model& model : all()) {
    Json entry = {{"id", name}, {"object", "model"}, {"created", began}, {"owned_by", "attend"}};
    if (name == model->name()) return entry;
    entry["parent"] = model->name();
    if (std::ranges::find(model->adapters(), name) != model->adapters().end()) return entry;
  }
  refuse_unknown(name, names());
}

RequestField ServedModels::field() const {
  const bool may_be_missing = all().size() == 1;
  return {"model", schema::text(),
          "the name of a model or an adapter, one of those of /v1/models" +
              std::string(may_be_missing ? "; may be missing" : "")};
}

std::vector<std::string> ServedModels::names() const {
  std::vector<std::string> names;
  for (const Model& model : all()) {
    names.push_back(model->name());
    names.insert(names.end(), model->adapters().begin(), model->adapters().end());
  }
  return names;
}

ServedModels::Model ServedModels::base(const std::string& name) const {
  std::vector<std::string> bases;
  const std::vector<Model> models = all();
  for (const Model& model : models) {
    if (name == model->name() || (name.empty() && models.size() == 1)) return model;
    bases.push_back(model->name());
  }
  refuse_unknown(name, bases);
}

void ServedModels::load_adapter(const std::string& model, const std::string& name,
                                const std::filesystem::path& directory, std::size_t max_adapters) {
  const std::lock_guard lock(changing_);
  const Model before = base(model);
  if (const std::vector<std::string> all = names(); std::ranges::find(all, name) != all.end())
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
  const std::lock_guard lock(changing_);
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
