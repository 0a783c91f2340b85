// What is trained: a model, alone or with others that learn beside it (ELECTRA's generator). Of a model with
// an adapter (models/adapter.h) the adapter learns, is held by checkpoints and left behind, and not the
// model.
#pragma once

#include "models/adapter_config.h"

namespace attend {

class Trainee {
 public:
  explicit Trainee(PretrainedModel model);
  // `model` learns too, and lies in a folder of this name beside the first one.
  void add(std::string name, PretrainedModel model);

  // The first one: what the run is about, what is validated and what it leaves behind.
  const PretrainedModel& model() const { return parts_.front().model; }
  Transformer network() const { return model().network(); }
  const PretrainedModel& model(std::string_view name) const;  // Error if none was added under this name

  // Puts a new adapter beside the first model, which alone learns from here on (Adapter::fresh).
  void adapt(const AdapterOptions& options, const std::string& task, std::uint64_t seed);

  // What is trained, each tensor once, by names that tell the models apart.
  std::vector<std::pair<std::string, Tensor>> parameters() const;
  // The tensors that a run changes, for averages of checkpoints: those of all models, each once.
  std::vector<Tensor> weights() const;

  // Holds what is to stay as it is: where the vector of padding is zero it stays zero, although a head that
  // is tied to it would move it (a Marian decoder begins with padding, and CTranslate2 with nothing at all).
  void find_constraints();
  void constrain_gradients() const;

  // Model directories, or those of adapters: the first model in `directory` itself.
  void save(const std::filesystem::path& directory) const;
  void load_weights(const std::filesystem::path& directory);

  // What one batch leaves for the next, by name (Transformer-XL's memories); saved with checkpoints.
  std::map<std::string, Tensor> carried;

 private:
  struct Part {
    std::string name;
    PretrainedModel model;
  };
  std::vector<Part> parts_;
  std::vector<std::pair<Tensor, std::int64_t>> zero_rows_;
};

}  // namespace attend
