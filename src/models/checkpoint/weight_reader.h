// Reads the tensors of a checkpoint: under any of their names, with the shape that config.json requires, in
// our layout.
#pragma once

#include "models/adapters/adapter.h"
#include "models/weights/weight_names.h"
#include "nn/linear/packed_matrix.h"
#include "sources/model_directory.h"

#include <set>

namespace attend {

// The names under which a checkpoint may hold `name`: with and without the family's prefix, and with BERT's
// old names of norms.
std::vector<std::string> spellings(const std::string& name, std::string_view prefix);

class WeightReader {
 public:
  // Tensors of `adapters` replace the checkpoint's. All arguments except `source`, the file that errors name,
  // must outlive the reader.
  WeightReader(const WeightFiles& checkpoint, std::string_view prefix,
               const std::vector<std::shared_ptr<Adapter>>& adapters, std::string source)
      : checkpoint_(checkpoint), prefix_(prefix), adapters_(adapters), source_(std::move(source)) {}

  // Whether tensor number i exists, in any spelling. With `shape`: with the shape that `weight` needs.
  bool has(std::size_t i, const WeightSource& source, const Tensor& weight, bool shape) const;
  // Marks a tensor as known although nothing uses it.
  void pass_over(const std::string& name, const WeightSource& source);
  // Tensor number i of those that make up `weight`, in our layout. An Error if it is missing, has another
  // shape or holds integers.
  Tensor read(std::size_t i, const WeightSource& source, const Tensor& weight);
  // The same with the groups of its encoding; none: it has none, or they do not follow the rows of `weight`.
  std::optional<NumberGroups> read_groups(std::size_t i, const WeightSource& source, const Tensor& weight);
  // The tensor with which an adapter replaces it; undefined: none does.
  Tensor replacement(std::size_t i, const WeightSource& source, const Tensor& weight) const;
  // Whether an adapter has a part of it.
  bool replaces(const WeightSource& source) const;
  // Identifies where a weight comes from: adapters' tensors by the names in `own`, the checkpoint's by those
  // in `in_checkpoint`.
  std::string origin(const WeightSource& own, const WeightSource& in_checkpoint) const;
  static bool is_of_checkpoint(std::string_view origin);  // whether no part of it is an adapter's
  // The tensors of a stored quantized matrix, for PackedMatrix::restore.
  std::map<std::string, Tensor> read_stored(const WeightSource& source, WeightFormat format);
  // Whether this tensor of the checkpoint has been read or skipped.
  bool was_asked(const std::string& name) const { return asked_.count(name) > 0; }
  // Whether it belongs to a layer that the model does not have, while the same tensor of layer 0 was used.
  bool is_of_further_layer(const std::string& name) const;

 private:
  // The adapter that has a tensor with one of these names; null: none.
  const Adapter* owner(const std::vector<std::string>& names) const;
  std::vector<std::string> all_names(const std::string& name, const WeightSource& source) const;
  // The first of these names that the checkpoint has; null: none.
  const std::string* find_one(const std::vector<std::string>& names) const;
  Tensor map(const std::string& name, const std::vector<std::string>& names, Dimensions expected) const;

  const WeightFiles& checkpoint_;
  std::string_view prefix_;
  const std::vector<std::shared_ptr<Adapter>>& adapters_;
  std::string source_;
  std::set<std::string> asked_;
};

}  // namespace attend
