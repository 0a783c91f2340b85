// Processors for constrained generation and for a program's own rules.
#pragma once

#include "generation/forms/grammar.h"
#include "generation/scores/processors.h"

namespace attend {

// `forced`: the second token is forced; the text begins after it.
Processor text_form(std::shared_ptr<const Grammar> grammar, bool forced);
Processor own_rule(ScoreRule rule);
// An Error if other processors have excluded everything that the form allows. Beams may reach such an end.
Processor something_left();

}  // namespace attend
