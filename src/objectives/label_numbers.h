// Labels of a data set by number.
#pragma once

#include "models/labels.h"

#include <cstdint>

namespace attend {

// The number of a label as a data set writes it: its name, or the number itself where no name is so written.
// Error, beginning with `place` and with the names there are, if it is neither.
std::int64_t label_number(const Labels& labels, const std::string& label, const std::string& place);
// The same, or nothing.
std::optional<std::int64_t> find_label(const Labels& labels, const std::string& label);
// Is the text an integer from 0 to below `count`?
bool is_label_number(const std::string& label, std::size_t count);
// "0", "1" ... for numbers that have no names.
std::vector<std::string> numbered_labels(std::size_t count);

}  // namespace attend
