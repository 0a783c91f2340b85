// transformers' SequenceSummary, which makes one vector of a text: the summary_* fields of the config.
#pragma once

#include "models/family.h"

namespace attend {

// What counts where the config is silent.
struct UsualSummary {
  std::string_view type = "last", activation = "";  // of the projection; "": none
  bool to_labels = false;                           // the projection is as wide as there are labels
  double first_dropout = 0, last_dropout = 0;       // before the projection and behind it
};

// A head whose scores are the summary itself, of `labels` numbers.
ScoreHeadSpec read_summary_scores(const Fields& config, const UsualSummary& usual, std::int64_t labels,
                                  std::int64_t width);
// A head whose scores a last matrix makes of the summary, which has to be `read` numbers wide for it.
ScoreHeadSpec read_summary_before_scores(const Fields& config, const UsualSummary& usual, std::int64_t labels,
                                         std::int64_t width, std::int64_t read);

}  // namespace attend
