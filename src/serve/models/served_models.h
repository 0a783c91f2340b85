// The models of a server, by the names in requests. Adapters may be loaded and unloaded while it runs.
#pragma once

#include "serve/models/served_model.h"

#include <condition_variable>
#include <span>
#include <thread>

namespace attend::serve {

class ServedModels {
 public:
  // Reads no model yet. Error for two of one name.
  ServedModels(const std::vector<NamedModel>& models, const QueueOptions& options);
  ~ServedModels();  // after all requests have ended

  // Loads one model after the other; each answers requests as soon as it is loaded. Ends early at an
  // interrupt. Error for a model that cannot be loaded.
  void load();

  // From any thread.

  std::vector<std::string> loading() const;  // the names of models that are not loaded yet

  // By the field "model", which may be missing if there is one model; its own name is without adapters.
  // Refuses, with the names there are. A model that is not loaded yet is 503.
  ChosenModel find(const Fields& body) const;
  std::vector<std::shared_ptr<ServedModel>> all() const;
  Json list() const;  // in the format of OpenAI's API
  // One entry of the list. Rejects unknown names with a list of the known ones.
  Json entry(const std::string& name) const;
  RequestField field() const;  // "model", of every request

  // Requests that come later may name the adapter. `model`: the name of its base; empty: the only model.
  // Refuses a name that is taken, an adapter that does not suit the model, and more than `max_adapters` of
  // one model. While another change is being made, it refuses with 429.
  void load_adapter(const std::string& model, const std::string& name, const std::filesystem::path& directory,
                    std::size_t max_adapters);
  // Requests in flight keep the adapter. Rejects a name that no adapter has.
  void unload_adapter(const std::string& name);

 private:
  using Model = std::shared_ptr<ServedModel>;
  // `loaded`: all(), of the same moment.
  std::span<const NamedModel> not_loaded(const std::vector<Model>& loaded) const;
  [[noreturn]] void refuse_name(const std::string& name, const std::vector<Model>& loaded,
                                const std::vector<std::string>& known) const;
  Model base(const std::string& name) const;
  std::unique_lock<std::mutex> begin_change();
  void replace(const Model& before, const NamedModel& after);
  void clean(const std::stop_token& stop);

  const QueueOptions options_;
  const std::vector<NamedModel> named_;  // at the start
  const std::string only_;               // the name of the only model; empty: there are several
  std::mutex changing_;                  // one change at a time
  mutable std::mutex mutex_;             // of what follows
  std::condition_variable_any changed_;
  std::vector<Model> models_;    // in the order of `named_`, of which the last may be missing
  std::vector<Model> replaced_;  // until their last requests end
  std::jthread cleaner_;
};

}  // namespace attend::serve
