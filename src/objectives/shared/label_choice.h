// The labels of a head: a trained model keeps its labels, its head and their ids if they are sufficient for
// the data.
#pragma once

#include "objectives/base/registry.h"

namespace attend {

// Whether a head with these labels fits the problem. A head that predicts numbers does not fit classes, and
// vice versa; if config.json does not say which it is, labels with names are classes.
bool has_learned(const Labels& of_head, std::optional<ProblemType> problem);
// The labels that the model's head keeps for data with the labels `of_data`, or none if it does not have all
// of them. Labels are matched by name; if none matches, integers up to the last id are ids, as in
// transformers. A head without label names (LABEL_0, ...) takes the data's labels in their order, if their
// number matches. A regression head keeps no labels.
std::optional<Labels> kept_labels(const Labels& of_head, const std::vector<std::string>& of_data);

// The labels for an objective whose data has `of_data`, in the order of their ids: those of the setting;
// otherwise those of the model's head, if it can be kept; otherwise the data's, with a new head. Logs the
// choice and the reason. Throws Error if there is only one label.
Labels choose_labels(const Setting& setting, const std::vector<std::string>& of_data,
                     std::optional<ProblemType> problem);
// The same for `count` indices without names.
Labels choose_numbers(const Setting& setting, std::size_t count, ProblemType problem);

}  // namespace attend
