// Fills a model's network with the weights of a checkpoint, and with the modules of adapters that replace
// them.
#pragma once

#include "models/checkpoint/weight_reader.h"

#include <map>

namespace attend {

// Weights that models of one checkpoint share, when they are loaded one after another: each weight is read
// once.
class SharedWeights {
 public:
  // `origin` identifies the source of the weight (WeightReader::origin).
  void keep(const std::string& origin, const Tensor& weight) { tensors_[origin] = weight; }
  void keep(const std::string& origin, std::shared_ptr<const PackedMatrix> matrix) {
    matrices_[origin] = std::move(matrix);
  }
  // Gives the parameter of this name the weight that another network has read for it; false if there is none.
  // `packed`: whether it must be a packed matrix.
  bool lend(const std::string& origin, Transformer& to, const std::string& name, bool packed) const;
  bool empty() const { return tensors_.empty() && matrices_.empty(); }
  // Without the modules of adapters: their files may hold other ones when they are read again.
  SharedWeights of_checkpoint() const;

 private:
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::shared_ptr<const PackedMatrix>> matrices_;
};

class NetworkFiller {
 public:
  // `adapters`: those whose modules and biases replace the checkpoint's. All arguments must outlive it.
  NetworkFiller(const PretrainedModel& model, const WeightFiles& checkpoint, const LoadOptions& options,
                const std::vector<std::shared_ptr<Adapter>>& adapters, SharedWeights& shared);

  // Reads every weight, or draws it if LoadOptions::fresh allows that. `other_labels`: the checkpoint's
  // labels differ from those requested. Returns the original names of what was drawn. Warns of tensors that
  // nothing uses.
  std::vector<std::string> fill(bool other_labels);

 private:
  bool trains() const { return options_.purpose == Purpose::training; }
  bool is_fresh(const std::string& parameter, const WeightSource& source, const Tensor& weight) const;
  // Whether the checkpoint has the parameter quantized, or it is to be quantized.
  bool in_fewer_bits(const std::string& parameter) const;
  // The format in which only a packed matrix is stored; none: the parameter stays a tensor.
  std::optional<WeightFormat> format_of(const std::string& parameter) const;
  void read(const std::string& parameter, Tensor& weight);
  // All rows of the parameter, in our layout.
  Tensor read_tensor(const std::string& parameter, const Tensor& weight);
  std::shared_ptr<const PackedMatrix> restore(const WeightSource& source, const Tensor& weight);
  std::shared_ptr<const PackedMatrix> read_blocks(const WeightSource& source, const Tensor& weight);
  void pack(const std::string& parameter, Tensor& weight, const std::shared_ptr<const PackedMatrix>& matrix);
  void draw();
  void warn_of_unknown() const;

  const PretrainedModel& model_;
  Transformer network_;
  const WeightFiles& checkpoint_;
  const LoadOptions& options_;
  SharedWeights& shared_;
  WeightReader reader_;
  bool stored_;  // whether the checkpoint is quantized
  bool warns_;   // whether no other model of this checkpoint has warned already
  bool other_labels_ = false;
  std::set<std::string> fresh_;
  std::vector<std::string> fresh_names_;
};

}  // namespace attend
