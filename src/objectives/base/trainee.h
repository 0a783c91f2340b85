// The trained model, alone or with others that train together with it (ELECTRA's generator). If a model has
// an adapter (models/adapters/adapter.h), the adapter is trained, stored in checkpoints and saved instead of
// the model.
#pragma once

#include "models/adapters/adapter_config.h"

#include <optional>

namespace attend {

class Trainee {
 public:
  explicit Trainee(PretrainedModel model);
  // Trains `model` as well, and saves it in a folder of this name inside that of the first one.
  void add(std::string name, PretrainedModel model);

  // The first model: the one that is validated and saved.
  const PretrainedModel& model() const { return parts_.front().model; }
  Transformer network() const { return model().network(); }
  std::vector<Transformer> networks() const;                  // of all models that are trained
  const PretrainedModel& model(std::string_view name) const;  // throws Error if none was added under this
                                                              // name

  // A frozen model, for losses that compare with it; absent: none. It is neither trained nor saved.
  void set_reference(PretrainedModel model) { reference_ = std::move(model); }
  const std::optional<PretrainedModel>& reference() const { return reference_; }

  // Adds a new adapter to the first model; from now on only the adapter is trained (Adapter::fresh).
  void adapt(const AdapterOptions& options, const std::string& task, std::uint64_t seed);

  // The trained tensors, each once, with names that distinguish the models.
  std::vector<std::pair<std::string, Tensor>> parameters() const;
  // The tensors that a run changes, for averages of checkpoints: those of all models, each once.
  std::vector<Tensor> weights() const;

  // Finds tensors that must not change: if the vector of the padding token is zero it stays zero, although a
  // tied head would change it (a Marian decoder starts with padding, and CTranslate2 with zeros).
  void find_constraints();
  void constrain_gradients() const;

  // Saves model directories, or those of adapters; the first model in `directory` itself.
  void save(const std::filesystem::path& directory) const;
  void load_weights(const std::filesystem::path& directory, const AfterReading& after_reading = {});

  // State that one batch leaves for the next, by name (Transformer-XL's memories); saved in checkpoints.
  std::map<std::string, Tensor> carried;

 private:
  struct Part {
    std::string name;
    PretrainedModel model;
  };
  std::vector<Part> parts_;
  std::optional<PretrainedModel> reference_;
  std::vector<std::pair<Tensor, std::int64_t>> zero_rows_;
};

}  // namespace attend
