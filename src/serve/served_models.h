// The models of a server, by the names that requests have for them. Adapters come and go while it runs.
#pragma once

#include "serve/served_model.h"

#include <condition_variable>
#include <thread>

namespace attend::serve {

class ServedModels {
 public:
  // Error for two of one name.
  ServedModels(const std::vector<NamedModel>& models, const QueueOptions& options);
  ~ServedModels();  // after all requests have ended

  // From any thread.

  // By the field "model", which may be missing if there is one model; its own name is without adapters.
  // Refuses, with the names there are.
  Asked find(const Fields& body) const;
  std::vector<std::shared_ptr<ServedModel>> all() const;
  Json list() const;  // as the API of OpenAI has it
  // One of the list. Refuses, with the names there are.
  Json entry(const std::string& name) const;
  RequestField field() const;  // "model", of every request

  // Requests that come later may name the adapter. `model`: the name of its base; empty: the only model.
  // Refuses a name that is taken, an adapter that does not suit the model, and more than `max_adapters` of
  // one model.
  void load_adapter(const std::string& model, const std::string& name, const std::filesystem::path& directory,
                    std::size_t max_adapters);
  // Requests in flight keep it. Refuses a name that no adapter has.
  void unload_adapter(const std::string& name);

 private:
  using Model = std::shared_ptr<ServedModel>;
  std::vector<std::string> names() const;
  Model base(const std::string& name) const;
  void replace(const Model& before, const NamedModel& after);
  void clean(const std::stop_token& stop);

  const QueueOptions options_;
  std::mutex changing_;       // one change at a time
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable_any changed_;
  std::vector<Model> models_;
  std::vector<Model> replaced_;  // until their last requests end
  std::jthread cleaner_;
};

}  // namespace attend::serve
