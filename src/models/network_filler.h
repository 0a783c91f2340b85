// Fills a model's network with the weights of a checkpoint, and with the modules of adapters that replace
// them.
#pragma once

#include "models/weight_reader.h"

#include <map>

namespace attend {

// What models that are read one after the other from one checkpoint have in common: each weight is read once.
class SharedWeights {
 public:
  // `origin` says what the weight was made of (WeightReader::origin).
  void keep(const std::string& origin, const Tensor& weight) { tensors_[origin] = weight; }
  void keep(const std::string& origin, std::shared_ptr<const PackedMatrix> matrix) {
    matrices_[origin] = std::move(matrix);
  }
  // Gives the parameter of this name what another network has read for it; false if none has. `packed`: it is
  // to be a packed matrix.
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
  // `adapters`: those whose modules and biases stand in the place of the checkpoint's. All must outlive it.
  NetworkFiller(const PretrainedModel& model, const WeightFiles& checkpoint, const LoadOptions& options,
                const std::vector<std::shared_ptr<Adapter>>& adapters, SharedWeights& shared);

  // Reads every weight, or draws it where LoadOptions::fresh allows that. `other_labels`: what the checkpoint
  // scores is not what is asked for. Gives the original names of what was drawn. Warns of tensors that
  // nothing asked for.
  std::vector<std::string> fill(bool other_labels);

 private:
  bool trains() const { return options_.purpose == Purpose::training; }
  bool is_fresh(const std::string& parameter, const WeightSource& source, const Tensor& weight) const;
  // Does the checkpoint have the parameter in fewer bits, or is it to be kept so?
  bool in_fewer_bits(const std::string& parameter) const;
  // The format in which the parameter is kept alone, or none: it stays a tensor.
  std::optional<WeightFormat> format_of(const std::string& parameter) const;
  void read(const std::string& parameter, Tensor& weight);
  // All rows of the parameter, in our layout.
  Tensor read_tensor(const std::string& parameter, const Tensor& weight);
  std::shared_ptr<const PackedMatrix> restore(const WeightSource& source, const Tensor& weight);
  void pack(const std::string& parameter, Tensor& weight, const std::shared_ptr<const PackedMatrix>& matrix);
  void draw();
  void warn_of_unknown() const;

  const PretrainedModel& model_;
  Transformer network_;
  const WeightFiles& checkpoint_;
  const LoadOptions& options_;
  SharedWeights& shared_;
  WeightReader reader_;
  bool stored_;  // is the checkpoint in fewer bits?
  bool warns_;   // no other model of this checkpoint has
  bool other_labels_ = false;
  std::set<std::string> fresh_;
  std::vector<std::string> fresh_names_;
};

}  // namespace attend
