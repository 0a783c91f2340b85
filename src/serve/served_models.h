// The models of a server, by the names in requests. Adapters may be loaded and unloaded while it runs.
#pragma once

#include "serve/served_model.h"

#include <condition_variable>
#include <thread>

namespace attend::serve {

class ServedModels {
 public:
  // Throws Error for two models with the same name.
  ServedModels(const std::vector<NamedModel>& models, const QueueOptions& options);
  ~ServedModels();  // after all requests have ended

  // From any thread.

  // Finds the model by the field "model", which may be missing if there is one model; the model's own name
  // means no adapter. Rejects unknown names with a list of the known ones.
  Asked find(const Fields& body) const;
  std::vector<std::shared_ptr<ServedModel>> all() const;
  Json list() const;  // in the format of OpenAI's API
  // One entry of the list. Rejects unknown names with a list of the known ones.
  Json entry(const std::string& name) const;
  RequestField field() const;  // "model", of every request

  // Later requests may name the adapter. `model`: the name of its base; empty: the only model. Rejects a name
  // in use, an adapter that does not fit the model, and more than `max_adapters` of one model.
  void load_adapter(const std::string& model, const std::string& name, const std::filesystem::path& directory,
                    std::size_t max_adapters);
  // Requests in flight keep the adapter. Rejects a name that no adapter has.
  void unload_adapter(const std::string& name);

 private:
  using Model = std::shared_ptr<ServedModel>;
  std::vector<std::string> names() const;
  Model base(const std::string& name) const;
  void replace(const Model& before, const NamedModel& after);
  void clean(const std::stop_token& stop);

  const QueueOptions options_;
  std::mutex changing_;       // one change at a time
  mutable std::mutex mutex_;  // protects the following members
  std::condition_variable_any changed_;
  std::vector<Model> models_;
  std::vector<Model> replaced_;  // until their last requests end
  std::jthread cleaner_;
};

}  // namespace attend::serve
