// Questions with several answers of which one is right (RACE, SWAG, COPA).
#pragma once

#include "data/table.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attend {

struct ChoiceQuestion {
  std::optional<std::string> context;
  std::string question;
  std::vector<std::string> choices;  // at least two
  std::size_t label = 0;             // the right one's place in `choices`
};

// JSON lines with question, choices (a list of texts), label (the right one's number, from 0, or its text)
// and perhaps context.
std::vector<ChoiceQuestion> read_choices(const std::vector<std::string>& files,
                                         const TableOptions& options = {});

}  // namespace attend
