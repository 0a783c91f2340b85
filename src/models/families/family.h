// A model family: how to read its config.json, its blocks, and its weight names.
#pragma once

#include "formats/json/json.h"
#include "models/weights/weight_names.h"
#include "nn/spec/spec.h"

#include <span>
#include <string_view>
#include <vector>

namespace attend {

struct Family {
  std::string_view model_type;  // of config.json
  std::string_view prefix;      // of the names in a checkpoint with a head; optional in files
  // Possible values of `architectures`; the first is the default.
  std::vector<std::string_view> architectures;

  ModelSpec (*spec)(const Fields& config, std::string_view architecture) = nullptr;
  std::vector<WeightName> (*weights)(const ModelSpec& spec) = nullptr;
  // Patterns of tensors that a checkpoint may contain and this family does not need.
  std::vector<std::string_view> ignored = {};

  // Fields of config.json that it knows in addition to those of a new one (for `attend init --set`).
  std::vector<std::string_view> optional_fields = {};
  // Names of the sizes of a new model, the default first, and the config.json of each.
  std::vector<std::string_view> presets = {};
  Json (*fresh_config)(std::string_view preset) = nullptr;
};

// An Error that lists the known ones if there is none with this model_type.
const Family& find_family(std::string_view model_type);
const Family& find_family(const Fields& config);   // by its model_type
const Family* known_family(const Fields& config);  // the same; null if there is none
std::span<const Family* const> families();

// Helpers for reading a family's config.
// Copies fields to the names that most families use: pairs of a family's own name and the usual one.
Fields with_usual_names(const Fields& config,
                        std::initializer_list<std::pair<const char*, const char*>> names);
Activation read_activation(const Fields& config, Fields::Names names, std::string_view otherwise);
// Scaled dot-product attention. The number of heads is in the field with one of these names; it must divide
// `width`, else an Error.
AttentionSpec read_attention(const Fields& config, Fields::Names heads, std::int64_t otherwise,
                             std::int64_t width);
double read_dropout(const Fields& config, Fields::Names names, double otherwise);
// num_labels (or id2label).
std::int64_t read_label_count(const Fields& config);
// The head over labels that an architecture's name asks for ("...ForTokenClassification"), or none.
// `sentence`: how the family scores a sentence; tokens and spans are scored as they are.
std::optional<ScoreHeadSpec> read_score_head(const Fields& config, std::string_view architecture,
                                             const ScoreHeadSpec& sentence);
// XLNet's search for answers, which XLM also has, and its weight names after `prefix`.
SpanSearchSpec read_span_search(const Fields& config, const NormSpec& norm);
std::vector<WeightName> span_search_weights(const std::string& prefix);
// The usual name of the last projection: "qa_outputs" for spans, "classifier" for everything else.
WeightName score_weights(const ModelSpec& model);

}  // namespace attend
