// What pipelines that score labels share.
#pragma once

#include "pipelines/pipeline.h"

namespace attend {

// [{"label", "score"}, ...]
Json label_list(const std::vector<LabelScore>& labels);

Option function_parameter(ScoreFunction& function);

}  // namespace attend
