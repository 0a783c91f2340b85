// transformers' SequenceSummary, which makes one vector from a text: the summary_* fields of the config.
#pragma once

#include "models/families/family.h"

namespace attend {

// Defaults for fields that the config leaves out.
struct SummaryDefaults {
  std::string_view type = "last", activation = "";  // of the projection; "": none
  bool to_labels = false;                           // the width of the projection is the number of labels
  double first_dropout = 0, last_dropout = 0;       // before and after the projection
};

// A head whose scores are the summary itself, `labels` numbers.
ScoreHeadSpec read_summary_scores(const Fields& config, const SummaryDefaults& defaults, std::int64_t labels,
                                  std::int64_t width);
// A head with a last matrix over the summary, which must have the width `read`.
ScoreHeadSpec read_summary_before_scores(const Fields& config, const SummaryDefaults& defaults,
                                         std::int64_t labels, std::int64_t width, std::int64_t read);

}  // namespace attend
