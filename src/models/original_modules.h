// Maps the modules of the original (nn.Linear, Conv1D, nn.Embedding), which adapters name, to our matrices
// and tables.
#pragma once

#include "models/pretrained_model.h"
#include "models/weight_layout.h"

namespace attend {

struct OriginalModule {
  std::string name = {};       // "bert.encoder.layer.0.attention.self.query"
  std::string parameter = {};  // ours: "encoder.layers.0.self_attention.query_key_value.weight"
  std::int64_t in = 0, out = 0;
  std::int64_t first = 0;  // a matrix: which rows of ours it is
  // How it has queries, keys and values head by head (DeBERTa); no heads: they are one below the other, as
  // ours.
  HeadOrder order = {};
  bool transposed = false;  // a Conv1D
  // A table ([in, out] in the original and here) and where it lies.
  bool is_table = false;
  bool scores_words = false;  // the matrix over the vocabulary

  // Rows [out, ...] of the original's order in ours, and back.
  Tensor to_ours(const Tensor& rows) const;
  Tensor to_original(const Tensor& rows) const;
};

// Those that an adapter can be put beside, in the order of our parameters.
std::vector<OriginalModule> original_modules(const PretrainedModel& model);

// Where the adapters of a module go. Error for a table.
std::vector<MatrixAdapter>& matrix_adapters(const PretrainedModel& model, const OriginalModule& module);
std::vector<TableAdapter>& table_adapters(const PretrainedModel& model, const OriginalModule& module);

// Our parameter itself.
Tensor parameter_of(const PretrainedModel& model, const OriginalModule& module);

}  // namespace attend
