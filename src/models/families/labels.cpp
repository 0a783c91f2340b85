#include "models/families/labels.h"

#include "base/error.h"
#include "base/utf8.h"
#include "models/families/family.h"

#include <set>

namespace attend {
namespace {

const char* name_of(ProblemType problem) {
  switch (problem) {
    case ProblemType::regression:
      return "regression";
    case ProblemType::single_label:
      return "single_label_classification";
    case ProblemType::multi_label:
      return "multi_label_classification";
  }
  fail("unknown problem type");
}

}  // namespace

std::vector<std::string> read_labels(const Fields& config) {
  std::vector<std::string> labels;
  const auto names = config.json().find("id2label");
  const bool named = names != config.json().end() && names->is_object();
  for (std::int64_t i = 0; i < read_label_count(config); ++i) {
    const std::string id = std::to_string(i);
    const bool known = named && names->contains(id) && names->at(id).is_string();
    labels.push_back(known ? names->at(id).get<std::string>() : "LABEL_" + id);
  }
  return labels;
}

void set_labels(Json& config, const Labels& labels) {
  if (labels.names.empty()) fail("expected at least one label, found none");
  std::set<std::string> known;
  Json names = Json::object(), ids = Json::object();
  for (const std::string& name : labels.names) {
    if (find_invalid_utf8(name)) fail("the label {} is not valid UTF-8", repair_utf8(name));
    if (!known.insert(name).second) fail("the label {} occurs twice", name);
    const std::size_t id = names.size();
    names[std::to_string(id)] = name;
    ids[name] = id;
  }
  config["num_labels"] = labels.names.size();
  config["id2label"] = std::move(names);
  config["label2id"] = std::move(ids);
  config.erase("problem_type");
  if (labels.problem) config["problem_type"] = name_of(*labels.problem);
}

}  // namespace attend
