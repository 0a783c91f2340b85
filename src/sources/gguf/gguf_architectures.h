// The names of each architecture's parts in llama.cpp and in transformers: tensors, and fields of
// config.json. Names and values are those that llama.cpp's convert_hf_to_gguf.py writes.
#pragma once

#include "sources/gguf/gguf_parts.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// The tensors of a module, NAME.weight and NAME.bias; # is a number. Matrices are [out, in].
struct GgufName {
  enum class Rows {
    as_they_lie,
    transposed,   // the checkpoint has [in, out] (Conv1D)
    query_pairs,  // in each head, the pairs of a rotation are neighbours; in the checkpoint
    key_pairs,    // they are half a head apart
    by_head,      // all queries, keys, values; the checkpoint has them head by head
  };
  std::string_view gguf, checkpoint;
  Rows rows = Rows::as_they_lie;
};

// A field of config.json and its keys, after "ARCHITECTURE."; the first key that exists counts. For a flag:
// tensors; it is true if one of them exists.
struct GgufField {
  const char* config;
  std::vector<const char*> keys;
};

struct GgufArchitecture {
  std::string_view name, model_type, class_name;
  std::vector<std::span<const GgufName>> names;  // the first table that has the module counts
  std::vector<GgufField> fields;
  Json fixed;  // facts about the architecture, as computed by llama.cpp
  std::vector<GgufField> flags = {};
  // Adds fields that do not follow from a single key.
  void (*complete)(const GgufParts& files, Json& config) = nullptr;
  float norm_offset = 0;  // the offset of the file's norm weights relative to the checkpoint's

  const GgufName* find(std::string_view module) const;  // null: in no table
  // The file's name and row order of a checkpoint's tensor; none: in no table.
  std::optional<std::pair<std::string, GgufName::Rows>> to_gguf(const std::string& checkpoint) const;
  std::string key(std::string_view name) const { return std::string(this->name) + "." + std::string(name); }
};

// The parts of "blk.12.attn_q.weight".
struct TensorNameParts {
  std::string module;  // "blk.#.attn_q"
  std::string number, ending;

  explicit TensorNameParts(const std::string& name);
  std::string with_number(std::string_view other) const;  // replaces # in `other`, and appends the ending
};

// An Error for an unknown architecture, which lists the known ones.
const GgufArchitecture& gguf_architecture(const Gguf& gguf);
std::vector<GgufArchitecture> gguf_decoders();  // Llama and its relatives

// A number or a flag, or the common value of an array with a value for each layer; none: the key does not
// exist. An Error if layers differ.
std::optional<Json> gguf_value(const Gguf& gguf, const std::string& key);

// Whether the head has its own matrix. Older files contain the token table twice.
bool has_own_head(const GgufParts& files);

}  // namespace attend
