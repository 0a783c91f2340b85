// Which labels a head tells apart: a model that has learned labels keeps them, its head and their ids, where
// they are enough for the data.
#pragma once

#include "objectives/registry.h"

namespace attend {

// Is a head with these labels one for the problem? One that predicts numbers is none for classes, nor the
// other way round; where config.json does not say which it is, labels with names are classes.
bool has_learned(const Labels& of_head, std::optional<ProblemType> problem);
// The labels that the model's head keeps for data with the labels `of_data`, or nothing where it does not
// know them all. It knows a label by its name; if it knows none of them by name, integers up to the last id
// are ids, as in transformers. A head whose labels have no names (LABEL_0, ...) takes the data's, if they are
// as many, in their order. A head that predicts numbers keeps no labels.
std::optional<Labels> kept_labels(const Labels& of_head, const std::vector<std::string>& of_data);

// The labels for an objective whose data has these, in the order in which ids are given. They are the
// setting's; else those of the model's head, if it can stay; else the data's, which get a new head. Says
// which it is and why. Error if one label is to be told from others and there is only one.
Labels choose_labels(const Setting& setting, const std::vector<std::string>& of_data,
                     std::optional<ProblemType> problem);
// The same for `count` numbers that have no names.
Labels choose_numbers(const Setting& setting, std::size_t count, ProblemType problem);

}  // namespace attend
