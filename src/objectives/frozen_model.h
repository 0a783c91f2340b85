// A second model that does not learn, beside the one that does: a teacher, or the reference of preferences.
#pragma once

#include "objectives/registry.h"

namespace attend {

// Loads it with the objective's head. `option`, such as "--teacher", names it in errors. Error if it has no
// such head, other stacks than the model that learns, or other tokens.
PretrainedModel load_frozen(const Setting& setting, const ObjectiveKind& kind,
                            const std::filesystem::path& path, const char* option);

// A pass of it, as precise as that of the model that learns: no dropout, no gradients. What computes with it
// makes a PassScope.
Pass frozen_pass(const Pass& pass);

}  // namespace attend
