// An adapter in peft's format: adapter_config.json and adapter_model.safetensors (or .bin). Most tensors are
// added to a model's weights (nn/linear/adapters.h); whole modules and biases replace the model's.
#pragma once

#include "formats/tensors/tensor_file.h"
#include "models/adapters/adapter_config.h"

namespace attend {

class Adapter {
 public:
  // An Error for unsupported methods, and for tensors that belong to no supported method.
  explicit Adapter(const std::filesystem::path& directory);
  // A new adapter for the model, with random numbers from `seed`. PiSSA subtracts the factors from the
  // model's matrices.
  static Adapter fresh(const PretrainedModel& model, const AdapterOptions& options, const std::string& task,
                       std::uint64_t seed);

  const AdapterConfig& config() const { return config_; }
  const std::string& source() const { return source_; }

  // The tensor that replaces the one with one of these names, in the checkpoint's layout; or undefined.
  Tensor replacement(const std::vector<std::string>& names) const;

  // Attaches it to the model's matrices and tables, as adapter number `index` with weight `share`. An Error
  // for tensors that match nothing there, or whose shape does not fit the model.
  void attach(const PretrainedModel& model, std::int64_t index, double share);
  // Detaches all adapters of a model.
  static void detach(const PretrainedModel& model);

  // From here on it is trained. Nothing else in the model is, except the adapter's own modules and biases.
  void train(const PretrainedModel& model);
  // The trained tensors that are not the model's own parameters; names begin with those of our parameters.
  std::vector<std::pair<std::string, Tensor>> parameters() const;
  // If stacked parameters of the model are trained for the adapter's biases, zeroes the other gradients in
  // them.
  void constrain_gradients() const;

  // Its tensors, by the names of the file, in the file's layout. `pick` returns a tensor for each: the tensor
  // itself or its gradient; undefined ones are left out. Tensors that are parameters of the model come from
  // the model.
  std::map<std::string, Tensor> stored(const PretrainedModel& model,
                                       const std::function<Tensor(const Tensor&)>& pick) const;
  // Writes both files, each completely or not at all.
  void save(const PretrainedModel& model, const std::filesystem::path& directory) const;
  // Restores the tensors of another state of the same adapter, as written by save().
  void restore(PretrainedModel& model, const std::filesystem::path& directory);

  // Whether it puts rows before each text (prefix and prompt tuning). Such an adapter cannot be merged into
  // weights.
  bool has_virtual_tokens() const;
  // Whether the model gets neither types nor positions. peft's model for question answering passes none on,
  // so such an adapter was trained without them.
  bool hides_types() const { return config_.fields().text({"task_type"}, "") == "QUESTION_ANS"; }
  // Whether it has modules or biases of its own, which replace the model's.
  bool replaces() const { return !replaced().empty(); }
  // The tensors of these, by the model's names for them.
  std::vector<std::string> replaced() const;
  std::int64_t size() const;  // the number of its parameters

 private:
  enum class Role { a, b, factor_bias, magnitude, table_a, table_b, ia3, virtual_tokens, replaced, kept };
  struct Entry {
    std::string stored;  // in the file
    std::string name;    // the module, or the tensor that it replaces
    Role role;
    Tensor value;
    ScalarType type = kFloat;  // in the file
    bool by_row = false;       // once attached, its rows are in our order (OriginalModule::to_ours)
  };
  struct Frozen {  // rows of a partly trained parameter
    Tensor parameter;
    std::int64_t first, count;
  };

  explicit Adapter(AdapterConfig config) : config_(std::move(config)), source_(config_.source()) {}
  void read(const std::string& stored, const Tensor& tensor);
  void add(const OriginalModule& module, const char* ending, Role role, Tensor value);
  Entry* find(const std::string& module, Role role);
  // Initializes the tensors of an adapted module.
  void draw(const OriginalModule& module, const PretrainedModel& model, std::uint64_t seed);
  // PiSSA (Meng et al. 2024, arXiv:2404.02948): the factors are the principal part of the matrix, from which
  // they are subtracted.
  void pissa_init(const OriginalModule& module, const PretrainedModel& model, Tensor& a, Tensor& b);
  // Turns such factors into a plain LoRA of the original matrix: [A; A0] and [B, -B0], with the initial
  // factors A0, B0.
  void to_plain_lora(std::map<std::string, Tensor>& tensors, Json& fields) const;
  void attach_matrix(const OriginalModule& module, const std::string& name, const PretrainedModel& model,
                     std::int64_t index, double share);
  void attach_table(const OriginalModule& module, const std::string& name, const PretrainedModel& model,
                    std::int64_t index, double share);
  // Prefix and prompt tuning: tensors that belong to no module.
  void draw_virtual_tokens(const PretrainedModel& model, std::uint64_t seed);
  void attach_virtual_tokens(const PretrainedModel& model, std::int64_t index, double share);
  void attach_prefix(const PretrainedModel& model, std::int64_t index);
  void attach_prompt(const PretrainedModel& model, std::int64_t index);
  // The module's tensor, which must have this shape (-1: any size); undefined if there is none.
  Tensor shaped(const std::string& module, Role role, std::vector<std::int64_t> shape,
                const OriginalModule* rows = nullptr);

  AdapterConfig config_;
  std::string source_;
  std::vector<Entry> entries_;
  std::map<std::string, OriginalModule> places_;  // of the modules, by their names here
  // PiSSA's initial factors, which were subtracted from the base
  std::map<std::string, std::pair<Tensor, Tensor>> first_factors_;
  std::vector<Frozen> frozen_;
};

// Whether adapter number `adapter` of the model (absent: any) hides types.
bool hides_types(const PretrainedModel& model, std::optional<std::int64_t> adapter = {});

}  // namespace attend
