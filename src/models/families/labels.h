// The labels of a classifier: id2label, label2id and problem_type of config.json.
#pragma once

#include "formats/json/json.h"
#include "nn/spec/spec.h"

#include <optional>
#include <string>
#include <vector>

namespace attend {

struct Labels {
  std::vector<std::string> names;           // by index; for a regression the name of its only score
  std::optional<ProblemType> problem = {};  // absent: unknown, as for labels of tokens
};

// config.json's id2label in the order of its indices, or LABEL_0 and so on.
std::vector<std::string> read_labels(const Fields& config);
// Writes them into a config.json. An Error if there are none, or if a name is repeated or not UTF-8.
void set_labels(Json& config, const Labels& labels);

}  // namespace attend
