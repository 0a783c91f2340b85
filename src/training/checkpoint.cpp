#include "training/checkpoint.h"

#include "models/tensors.h"

#include <algorithm>

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

}  // namespace

std::int64_t Checkpoints::step_of(const fs::path& directory) {
  const std::string name = directory.filename().string();
  if (!name.starts_with(kPrefix)) return -1;
  std::int64_t step = 0;
  for (char c : name.substr(kPrefix.size())) {
    if (c < '0' || c > '9') return -1;
    step = step * 10 + (c - '0');
  }
  return step;
}

fs::path Checkpoints::of_step(std::int64_t step) const {
  return output_ / "checkpoints" / fmt::format("{}{}", kPrefix, step);
}

std::vector<fs::path> Checkpoints::all() const {
  std::vector<fs::path> found;
  const fs::path folder = output_ / "checkpoints";
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      if (step_of(entry.path()) >= 0 && fs::exists(entry.path() / "training.json"))
        found.push_back(entry.path());
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return step_of(a) < step_of(b); });
  return found;
}

std::optional<fs::path> Checkpoints::newest() const {
  const std::vector<fs::path> found = all();
  return found.empty() ? std::nullopt : std::optional(found.back());
}

void Checkpoints::save(const Model& model, const AdamOptimizer& optimizer, const Progression& at) const {
  const fs::path target = of_step(at.step), unfinished = target.string() + ".unfinished";
  fs::remove_all(unfinished);
  model.save(unfinished);
  write_tensors(unfinished / "optimizer.safetensors", optimizer.state());
  const Json standing = {{"step", at.step},           {"epoch", at.epoch},   {"batch", at.batch},
                         {"seconds", at.seconds},     {"tokens", at.tokens}, {"best", at.best},
                         {"best_step", at.best_step}, {"worse", at.worse}};
  write_file_atomically(unfinished / "training.json", standing.dump(2) + "\n");
  fs::remove_all(target);
  fs::rename(unfinished, target);
}

void Checkpoints::prune(std::size_t keep, std::int64_t every, std::int64_t best_step) const {
  const std::vector<fs::path> found = all();
  std::size_t regular = 0;
  for (std::size_t i = found.size(); i-- > 0;) {  // the newest first
    const std::int64_t step = step_of(found[i]);
    const bool counts = step % every == 0;
    const bool stays = i + 1 == found.size() || step == best_step || (counts && regular < keep);
    if (counts) ++regular;
    if (!stays) fs::remove_all(found[i]);
  }
}

Progression Checkpoints::restore(const fs::path& checkpoint, Model& model, AdamOptimizer& optimizer) {
  const Fields standing(read_json(checkpoint / "training.json"), (checkpoint / "training.json").string());
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  Progression at;
  at.step = standing.integer({"step"}, {}, 0, kMost);
  at.epoch = standing.integer({"epoch"}, {}, 0, kMost);
  at.batch = standing.integer({"batch"}, {}, 0, kMost);
  at.seconds = standing.number({"seconds"});
  at.tokens = standing.integer({"tokens"}, {}, 0, kMost);
  at.best = standing.number({"best"});
  at.best_step = standing.integer({"best_step"}, {}, 0, kMost);
  at.worse = standing.integer({"worse"}, {}, 0, kMost);
  model.set_weights(Checkpoint::open(checkpoint), Purpose::training);
  optimizer.restore(read_tensors(checkpoint / "optimizer.safetensors"), at.step);
  return at;
}

void average_weights(const std::vector<fs::path>& checkpoints, Model& model) {
  at::NoGradGuard no_grad;
  std::vector<Tensor> sums;  // in double: the mean of equal weights is that weight
  for (const fs::path& checkpoint : checkpoints) {
    model.set_weights(Checkpoint::open(checkpoint), Purpose::training);
    const std::vector<Tensor> weights = model.network()->parameters();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (sums.size() == i)
        sums.push_back(weights[i].to(at::kDouble));
      else
        sums[i] += weights[i];
    }
  }
  const std::vector<Tensor> weights = model.network()->parameters();
  for (std::size_t i = 0; i < sums.size(); ++i)
    weights[i].copy_(sums[i] / static_cast<double>(checkpoints.size()));
}

}  // namespace attend
