// The labels of a classifier: id2label, label2id and problem_type of config.json.
#pragma once

#include "formats/json.h"
#include "nn/spec.h"

#include <optional>
#include <string>
#include <vector>

namespace attend {

struct Labels {
  std::vector<std::string> names;           // by number; for a regression that of its only score
  std::optional<ProblemType> problem = {};  // absent: not said, as for labels of tokens
};

// config.json's id2label by number, or LABEL_0 and so on.
std::vector<std::string> read_labels(const Fields& config);
// Writes them into a config.json. Error if there is none, two are called alike or one is no UTF-8.
void set_labels(Json& config, const Labels& labels);

}  // namespace attend
