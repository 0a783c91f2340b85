// What llama.cpp calls the parts of each architecture and what transformers calls them: tensors, and fields
// of config.json. Names and values are those that llama.cpp's convert_hf_to_gguf.py writes.
#pragma once

#include "formats/gguf_parts.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// A module's tensors, NAME.weight and NAME.bias; # is a number. Matrices lie as [out, in].
struct GgufName {
  enum class Rows {
    as_they_lie,
    transposed,   // the checkpoint has [in, out] (Conv1D)
    query_pairs,  // in each head the two numbers that turn together are neighbours; the checkpoint has
    key_pairs,    // them half a head apart
    by_head,      // queries, keys, values; the checkpoint has those of each head together
  };
  std::string_view gguf, checkpoint;
  Rows rows = Rows::as_they_lie;
};

// A field of config.json and the keys that say it, after "ARCHITECTURE.": the first that is there counts.
// Of a flag: tensors, one of which is there where the flag is true.
struct GgufField {
  const char* config;
  std::vector<const char*> keys;
};

struct GgufArchitecture {
  std::string_view name, model_type, class_name;
  std::vector<std::span<const GgufName>> names;  // the first table that knows a module counts
  std::vector<GgufField> fields;
  Json fixed;  // what the architecture is, and llama.cpp computes it
  std::vector<GgufField> flags = {};
  // Adds what no key says by itself.
  void (*complete)(const GgufParts& files, Json& config) = nullptr;
  float norm_offset = 0;  // what the file's weights of norms have more than the checkpoint's

  const GgufName* find(std::string_view module) const;  // null: no table knows it
  // What a checkpoint's tensor is called in the file, and how its rows lie there; nothing: no table knows it.
  std::optional<std::pair<std::string, GgufName::Rows>> to_gguf(const std::string& checkpoint) const;
  std::string key(std::string_view name) const { return std::string(this->name) + "." + std::string(name); }
};

// The parts of "blk.12.attn_q.weight".
struct TensorNameParts {
  std::string module;  // "blk.#.attn_q"
  std::string number, ending;

  explicit TensorNameParts(const std::string& name);
  std::string with_number(std::string_view other) const;  // the number in the place of #, then the ending
};

// Error for one that is not known, with those there are.
const GgufArchitecture& gguf_architecture(const Gguf& gguf);
std::vector<GgufArchitecture> gguf_decoders();  // Llama and its relatives

// A number or a flag, or the one value of an array with a value for each layer; nothing: there is no such
// key. Error where layers differ.
std::optional<Json> gguf_value(const Gguf& gguf, const std::string& key);

// Is the head a matrix of its own? Older files have the table of tokens twice.
bool has_own_head(const GgufParts& files);

}  // namespace attend
