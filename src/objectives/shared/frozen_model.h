// A second, frozen model next to the trained one: a teacher, or the reference for preferences.
#pragma once

#include "objectives/base/registry.h"

namespace attend {

// Loads it with the objective's head. `option`, such as "`teacher`", names it in errors. Throws Error if it
// has no such head, or if its stacks or tokens differ from the trained model's.
PretrainedModel load_frozen(const Setting& setting, const ObjectiveKind& kind,
                            const std::filesystem::path& path, const char* option);

// A pass with the precision of the trained model: no dropout, no gradients. The caller makes a PassScope.
Pass frozen_pass(const Pass& pass);

}  // namespace attend
