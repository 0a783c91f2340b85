#include "training/agreement.h"

namespace attend {

void Agreement::add(const StepData& step) {
  for (const Batch& batch : step.batches) {
    tokens += batch.real_tokens();
    padded += batch.padded_tokens();
  }
}

Agreement agree(Ranks& ranks, const Agreement& own) {
  double told[] = {static_cast<double>(own.tokens), static_cast<double>(own.padded), own.stops ? 1.0 : 0.0,
                   own.late && ranks.first() ? 1.0 : 0.0};
  ranks.sum(told);
  return {static_cast<std::int64_t>(told[0]), static_cast<std::int64_t>(told[1]), told[2] > 0, told[3] > 0};
}

}  // namespace attend
