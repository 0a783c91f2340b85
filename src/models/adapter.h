// An adapter in peft's format: adapter_config.json and adapter_model.safetensors (or .bin). It is added to a
// model's weights (nn/adapters.h); its whole modules and biases replace the model's.
#pragma once

#include "formats/tensor_file.h"
#include "models/adapter_config.h"

namespace attend {

class Adapter {
 public:
  // Error for another method, and for tensors that belong to none.
  explicit Adapter(const std::filesystem::path& directory);
  // A new one for the model. Its numbers follow from `seed`. With PiSSA the model's matrices lose what the
  // factors have taken.
  static Adapter fresh(const PretrainedModel& model, const AdapterOptions& options, const std::string& task,
                       std::uint64_t seed);

  const AdapterConfig& config() const { return config_; }
  const std::string& source() const { return source_; }

  // What takes the place of the tensor that has one of these names, in the checkpoint's layout; or undefined.
  Tensor replacement(const std::vector<std::string>& names) const;

  // Puts it beside the model's matrices and tables, as adapter number `index` with this share. Error for
  // tensors that have no place there, or another shape than the model needs.
  void attach(const PretrainedModel& model, std::int64_t index, double share);
  // Takes all adapters of a model away.
  static void detach(const PretrainedModel& model);

  // From here on it learns, and nothing else of the model does but the modules and biases that are its own.
  void train(const PretrainedModel& model);
  // What learns beside the model's own parameters, by names that begin with those of ours.
  std::vector<std::pair<std::string, Tensor>> parameters() const;
  // Zeroes the gradients of what the model's stacked parameters have beside the adapter's own biases.
  void constrain_gradients() const;

  // Its tensors by the names of the file, in the file's layout. `pick` gives something for each: the tensor
  // itself or its gradient; undefined ones are left out. What belongs to the model's parameters comes from
  // the model.
  std::map<std::string, Tensor> stored(const PretrainedModel& model,
                                       const std::function<Tensor(const Tensor&)>& pick) const;
  // Both files, each complete or not at all.
  void save(const PretrainedModel& model, const std::filesystem::path& directory) const;
  // Numbers of another state of the same adapter, as save() wrote them.
  void restore(PretrainedModel& model, const std::filesystem::path& directory);

  // Does it put rows before each text (prefix and prompt tuning)? Then the model cannot take it up into its
  // weights.
  bool has_virtual_tokens() const;
  // Does the model get neither types nor positions with it? peft's model for answers hands none on, so that
  // is what such an adapter has learned with.
  bool hides_types() const { return config_.fields().text({"task_type"}, "") == "QUESTION_ANS"; }
  // Does it have modules or biases of its own, in the place of the model's?
  bool replaces() const { return !replaced().empty(); }
  // The tensors of these, by the names that the model has for them.
  std::vector<std::string> replaced() const;
  std::int64_t size() const;  // how many numbers it has

 private:
  enum class Role { a, b, factor_bias, magnitude, table_a, table_b, ia3, virtual_tokens, replaced, kept };
  struct Entry {
    std::string stored;  // in the file
    std::string name;    // the module, or the tensor that it replaces
    Role role;
    Tensor value;
    ScalarType type = kFloat;  // in the file
    bool by_row = false;       // attached, its rows are in our order (OriginalModule::to_ours)
  };
  struct Frozen {  // rows of a parameter that learns in part
    Tensor parameter;
    std::int64_t first, count;
  };

  explicit Adapter(AdapterConfig config) : config_(std::move(config)), source_(config_.source()) {}
  void read(const std::string& stored, const Tensor& tensor);
  void add(const OriginalModule& module, const char* ending, Role role, Tensor value);
  Entry* find(const std::string& module, Role role);
  // Numbers for a module that is to be adapted.
  void draw(const OriginalModule& module, const PretrainedModel& model, std::uint64_t seed);
  // PiSSA (Meng et al. 2024, arXiv:2404.02948): the factors are the largest part of the matrix, which loses
  // it.
  void take_principal_part(const OriginalModule& module, const PretrainedModel& model, Tensor& a, Tensor& b);
  // Such factors as an adapter of the whole matrix: [A; A0] and [B, -B0] with what it had lost at first.
  void make_whole(std::map<std::string, Tensor>& tensors, Json& fields) const;
  void attach_matrix(const OriginalModule& module, const std::string& name, const PretrainedModel& model,
                     std::int64_t index, double share);
  void attach_table(const OriginalModule& module, const std::string& name, const PretrainedModel& model,
                    std::int64_t index, double share);
  // Prefix and prompt tuning: numbers of no module.
  void draw_virtual_tokens(const PretrainedModel& model, std::uint64_t seed);
  void attach_virtual_tokens(const PretrainedModel& model, std::int64_t index, double share);
  void attach_prefix(const PretrainedModel& model, std::int64_t index);
  void attach_prompt(const PretrainedModel& model, std::int64_t index);
  // The module's tensor, which has to have this shape (-1: any number); undefined if there is none.
  Tensor shaped(const std::string& module, Role role, std::vector<std::int64_t> shape,
                const OriginalModule* rows = nullptr);

  AdapterConfig config_;
  std::string source_;
  std::vector<Entry> entries_;
  std::map<std::string, OriginalModule> places_;                    // of the modules, by their names here
  std::map<std::string, std::pair<Tensor, Tensor>> first_factors_;  // PiSSA's, which the base has lost
  std::vector<Frozen> frozen_;
};

// Does adapter number `adapter` of the model (absent: any) hide types?
bool hides_types(const PretrainedModel& model, std::optional<std::int64_t> adapter = {});

}  // namespace attend
