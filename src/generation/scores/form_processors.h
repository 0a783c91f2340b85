// Processors for constrained generation and for a program's own rules.
#pragma once

#include "generation/forms/grammar.h"
#include "generation/scores/processors.h"

namespace attend {

// `forced`: the second token is forced; the text begins behind it.
Processor text_form(std::shared_ptr<const Grammar> grammar, bool forced);
Processor own_rule(ScoreRule rule);
// Error where other processors have ruled out all that the form allows. Beams may well come to such an end.
Processor something_left();

}  // namespace attend
