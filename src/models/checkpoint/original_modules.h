// Maps the modules of the original (nn.Linear, Conv1D, nn.Embedding), which adapters name, to our matrices
// and tables.
#pragma once

#include "models/checkpoint/pretrained_model.h"
#include "models/weights/weight_layout.h"

namespace attend {

struct OriginalModule {
  std::string name = {};       // "bert.encoder.layer.0.attention.self.query"
  std::string parameter = {};  // ours: "encoder.layers.0.self_attention.query_key_value.weight"
  std::int64_t in = 0, out = 0;
  std::int64_t first = 0;  // of a matrix: its rows in ours
  // The order if queries, keys and values are interleaved head by head (DeBERTa); no heads: they are stacked,
  // as in ours.
  HeadOrder order = {};
  bool transposed = false;  // a Conv1D
  // Whether it is a table ([in, out] in the original and here).
  bool is_table = false;
  bool scores_words = false;  // the matrix over the vocabulary
  bool swapped = false;       // the second half of its rows comes first in ours (GTE)

  // Converts rows [out, ...] from the original's order to ours, and back.
  Tensor to_ours(const Tensor& rows) const;
  Tensor to_original(const Tensor& rows) const;
};

// The modules that an adapter can be attached to, in the order of our parameters.
std::vector<OriginalModule> original_modules(const PretrainedModel& model);

// The list that holds the adapters of a module. An Error for a table.
std::vector<MatrixAdapter>& matrix_adapters(const PretrainedModel& model, const OriginalModule& module);
std::vector<TableAdapter>& table_adapters(const PretrainedModel& model, const OriginalModule& module);

// Our parameter for the module.
Tensor parameter_of(const PretrainedModel& model, const OriginalModule& module);

}  // namespace attend
