// Labels of a data set by number.
#pragma once

#include "models/labels.h"

#include <cstdint>

namespace attend {

// The number of a label as a data set writes it: its name, or the number itself where no name is so written.
// Error, with the names there are, if it is neither.
std::int64_t label_number(const Labels& labels, const std::string& label);
// "0", "1" ... for numbers that have no names.
std::vector<std::string> numbered_labels(std::size_t count);

}  // namespace attend
