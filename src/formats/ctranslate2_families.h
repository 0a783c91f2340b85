// The inverse of what CTranslate2's converter does to each of Hugging Face's families: which variable is
// which tensor of a checkpoint, and which fields of config.json follow from shapes and numbers. A table per
// family: Marian, M2M-100, BART, T5, GPT-2 and BERT. Names and values are those of its
// converters/transformers.py.
#pragma once

#include "formats/ctranslate2.h"
#include "formats/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::ctranslate2 {

// A module's variables, NAME/weight and NAME/bias (of norms: gamma and beta); # is a number.
struct Name {
  std::string theirs;
  // {a|b|c}: the variable is these modules' tensors, one below the other. Empty: what config.json says
  // already.
  std::string checkpoint;
  bool transposed = false;  // the checkpoint has [in, out] (Conv1D)
  // Rows that the checkpoint has before and behind the variable's, and nobody reads: zeros.
  std::int64_t before = 0, behind = 0;
};

// A single number, by its name with # for numbers, and what the family must have there.
struct Attribute {
  std::string name;
  std::optional<double> value = {};
};

struct Family {
  std::string_view model_type, class_name;
  // What the original's tokenizer lies in: CTranslate2 leaves it to whoever copies files.
  std::string_view tokenizer_files;
  std::vector<Name> (*names)(const CTranslate2& file) = nullptr;
  std::vector<Attribute> (*attributes)() = nullptr;
  // config.json but for tokens' ids; `settings` is CTranslate2's own config.json.
  Json (*config)(const CTranslate2& file, const Fields& settings) = nullptr;
  // Tokens behind the vocabulary that the converter has left out.
  std::int64_t left_out = 0;
  bool has_biases = true;       // in its layers and norms
  bool has_final_bias = false;  // of the head over the vocabulary: final_logits_bias
};

// Error for a spec, a revision or a family that is not read, with those that are.
const Family& family_of(const CTranslate2& file);

// The parts of "decoder/layer_12/ffn/linear_0/weight".
struct Parts {
  std::string module;  // "decoder/layer_#/ffn/linear_0"
  std::string number;  // "12"; empty: none
  std::string leaf;    // "weight"
};
Parts parts_of(const std::string& name);

// Is the variable a scale that goes with another one?
bool is_scale(const CTranslate2& file, const std::string& name);

// Error for a single number that the family does not have, or has otherwise.
void check_attributes(const Family& family, const CTranslate2& file);

}  // namespace attend::ctranslate2
