// Labels of a data set, as indices.
#pragma once

#include "models/families/labels.h"

#include <cstdint>

namespace attend {

// The index of a label as a data set writes it: its name, or the index itself if no name looks like that.
// Otherwise throws Error that begins with `place` and lists the names.
std::int64_t label_number(const Labels& labels, const std::string& label, const std::string& place);
// The same, or none.
std::optional<std::int64_t> find_label(const Labels& labels, const std::string& label);
// Whether the text is an integer from 0 to below `count`.
bool is_label_number(const std::string& label, std::size_t count);
// "0", "1" ... for indices without names.
std::vector<std::string> numbered_labels(std::size_t count);

}  // namespace attend
