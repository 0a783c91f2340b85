// Reads the tensors of a checkpoint: under any of their names, in the shape that config.json requires, in our
// layout.
#pragma once

#include "formats/model_directory.h"
#include "models/adapter.h"
#include "models/weight_names.h"
#include "nn/packed_matrix.h"

#include <set>

namespace attend {

// The names under which a checkpoint may hold `name`: with and without the family's prefix, and BERT's old
// spelling of norms.
std::vector<std::string> spellings(const std::string& name, std::string_view prefix);

class WeightReader {
 public:
  // `adapters` have tensors in the place of the checkpoint's. All but `source`, the file that errors name,
  // must outlive the reader.
  WeightReader(const WeightFiles& checkpoint, std::string_view prefix,
               const std::vector<std::shared_ptr<Adapter>>& adapters, std::string source)
      : checkpoint_(checkpoint), prefix_(prefix), adapters_(adapters), source_(std::move(source)) {}

  // Is tensor number i there, under any spelling? With `shape`: in the shape that `weight` needs?
  bool has(std::size_t i, const WeightSource& source, const Tensor& weight, bool shape) const;
  // Nothing is made of it, but neither is it unknown.
  void pass_over(const std::string& name, const WeightSource& source);
  // Number i of the tensors that make up `weight`, in our layout. Error if it is missing, of another shape or
  // of integers.
  Tensor read(std::size_t i, const WeightSource& source, const Tensor& weight);
  // The same of what an adapter has in its place; undefined: none has.
  Tensor replacement(std::size_t i, const WeightSource& source, const Tensor& weight) const;
  // Has an adapter a part of this?
  bool replaces(const WeightSource& source) const;
  // Tells apart what weights are made of: of the adapters' tensors by the names of `own`, of the checkpoint's
  // by those of `in_checkpoint`.
  std::string origin(const WeightSource& own, const WeightSource& in_checkpoint) const;
  static bool is_of_checkpoint(std::string_view origin);  // no part of it is an adapter's
  // A matrix that is stored in fewer bits, as PackedMatrix::restore wants it.
  std::map<std::string, Tensor> read_stored(const WeightSource& source, WeightFormat format);
  // Has this tensor of the checkpoint been read or passed over?
  bool was_asked(const std::string& name) const { return asked_.count(name) > 0; }
  // Is it one of a layer that the model does not have, while the same tensor of layer 0 was asked for?
  bool is_of_further_layer(const std::string& name) const;

 private:
  // The adapter that has a tensor of one of these names; null: none has.
  const Adapter* owner(const std::vector<std::string>& names) const;
  std::vector<std::string> all_names(const std::string& name, const WeightSource& source) const;
  // The first of them that the checkpoint has; null: none.
  const std::string* find_one(const std::vector<std::string>& names) const;
  Tensor map(const std::string& name, const std::vector<std::string>& names, Dimensions expected) const;

  const WeightFiles& checkpoint_;
  std::string_view prefix_;
  const std::vector<std::shared_ptr<Adapter>>& adapters_;
  std::string source_;
  std::set<std::string> asked_;
};

}  // namespace attend
