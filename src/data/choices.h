// Questions with several answers, one of them right (RACE, SWAG, COPA).
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
  std::size_t label = 0;             // index of the right choice
};

// JSON lines with question, choices (a list of texts), label (the right choice's index from 0, or its text)
// and optionally context.
std::vector<ChoiceQuestion> read_choices(const std::vector<std::string>& files,
                                         const TableOptions& options = {});

}  // namespace attend
