// Reverses what CTranslate2's converter does to each Hugging Face family: which variable is which tensor of a
// checkpoint, and which fields of config.json follow from shapes and numbers. One table per family: Marian,
// M2M-100, BART, T5, GPT-2 and BERT. Names and values are those of its converters/transformers.py.
#pragma once

#include "formats/json/json.h"
#include "sources/ctranslate2/ctranslate2.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::ctranslate2 {

// The variables of a module, NAME/weight and NAME/bias (of norms: gamma and beta); # is a number.
struct Name {
  std::string theirs;
  // {a|b|c}: the variable is the stacked tensors of these modules. Empty: config.json has the same
  // information.
  std::string checkpoint;
  bool transposed = false;  // the checkpoint has [in, out] (Conv1D)
  // Unused rows of zeros that the checkpoint has before and after the variable's.
  std::int64_t before = 0, after = 0;
};

// A single number: its name with # for numbers, and the value that the family requires.
struct Attribute {
  std::string name;
  std::optional<double> value = {};
};

struct Family {
  std::string_view model_type, class_name;
  // The original's tokenizer files: CTranslate2's converter copies them only if the user asks for it.
  std::string_view tokenizer_files;
  std::vector<Name> (*names)(const CTranslate2& file) = nullptr;
  std::vector<Attribute> (*attributes)() = nullptr;
  // config.json without token ids; `settings` is CTranslate2's own config.json.
  Json (*config)(const CTranslate2& file, const Fields& settings) = nullptr;
  // The number of tokens after the vocabulary that the converter left out.
  std::int64_t left_out = 0;
  bool has_biases = true;       // in its layers and norms
  bool has_final_bias = false;  // of the language model head: final_logits_bias
};

// An Error for an unsupported spec, revision or family, which lists those that are supported.
const Family& family_of(const CTranslate2& file);

// The parts of "decoder/layer_12/ffn/linear_0/weight".
struct Parts {
  std::string module;  // "decoder/layer_#/ffn/linear_0"
  std::string number;  // "12"; empty: none
  std::string leaf;    // "weight"
};
Parts parts_of(const std::string& name);

// Whether the variable is the scale of another one.
bool is_scale(const CTranslate2& file, const std::string& name);

// An Error for a single number that the family does not have, or with another value than required.
void check_attributes(const Family& family, const CTranslate2& file);

}  // namespace attend::ctranslate2
