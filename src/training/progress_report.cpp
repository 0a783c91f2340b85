#include "training/progress_report.h"

namespace attend {

void ProgressReport::say(std::int64_t step, const StepResult& result, const Agreement& read, double epochs,
                         double seconds, const std::string& scores) {
  since_last_ += read.tokens;
  real_tokens_ += read.tokens;
  padded_tokens_ += read.padded;
  const double passed = seconds - last_;
  if (passed >= 1) {
    tokens_per_second_ = static_cast<double>(since_last_) / passed;
    since_last_ = 0;
    last_ = seconds;
  }
  const double loss = result.gradients.loss;
  smoothed_loss_ = smoothed_loss_ == 0 ? loss : 0.95 * smoothed_loss_ + 0.05 * loss;
  const double saved = 100 * (1 - static_cast<double>(real_tokens_) / static_cast<double>(padded_tokens_));
  std::string note = fmt::format("loss {:.3f}, {:.0f} tokens/s", smoothed_loss_, tokens_per_second_);
  if (saved >= 1) note += fmt::format(" (padding would add {:.0f} %)", 100 * saved / (100 - saved));
  if (minutes_ > 0) note += fmt::format(", {:.1f} of {:g} minutes", seconds / 60, minutes_);
  if (!scores.empty()) note += ", validation " + scores;
  progress_.update(static_cast<std::uint64_t>(step), note);
  if (step % 10 != 0) return;
  std::vector<std::pair<std::string, double>> values = {{"train/loss", loss}};
  for (std::size_t k = 0; k < terms_.size() && terms_.size() > 1; ++k)
    values.emplace_back("train/" + terms_[k].name, result.gradients.terms[k]);
  values.insert(values.end(), {{"train/gradient_norm", result.norm},
                               {"train/rate", result.rate},
                               {"train/tokens_per_second", tokens_per_second_},
                               {"train/epoch", epochs},
                               {"train/seconds", seconds}});
  log_.write(step, values);
}

}  // namespace attend
