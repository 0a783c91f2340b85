#include "training/checkpoint.h"

#include "models/derived/companions.h"
#include "models/weights/tensors.h"

#include <algorithm>
#include <set>

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "step-";
constexpr const char* kWhole = "training.json";  // written last: a checkpoint with this file is complete
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kCarried = "carried.safetensors";

}  // namespace

std::string to_text(const RunPosition& at) {
  Json standing = {{"step", at.step},           {"epoch", at.place.epoch}, {"batch", at.place.batch},
                   {"seconds", at.seconds},     {"tokens", at.tokens},     {"best", at.best},
                   {"best_step", at.best_step}, {"worse", at.worse},       {"validated", at.validated}};
  if (at.plateau.best) {
    standing["plateau_factor"] = at.plateau.factor;
    standing["plateau_best"] = *at.plateau.best;
    standing["plateau_worse"] = at.plateau.worse;
  }
  return standing.dump(2) + "\n";
}

RunPosition read_run_position(const std::string& text, const std::string& source) {
  const Fields standing(parse_json(text, source), source);
  constexpr std::int64_t kMax = std::int64_t{1} << 62;
  RunPosition at;
  at.step = standing.integer({"step"}, {}, 0, kMax);
  at.place.epoch = standing.integer({"epoch"}, {}, 0, kMax);
  at.place.batch = standing.integer({"batch"}, {}, 0, kMax);
  at.seconds = standing.number({"seconds"});
  at.tokens = standing.integer({"tokens"}, {}, 0, kMax);
  at.best = standing.maybe_number({"best"}).value_or(std::numeric_limits<double>::quiet_NaN());
  at.best_step = standing.integer({"best_step"}, {}, 0, kMax);
  at.worse = standing.integer({"worse"}, {}, 0, kMax);
  at.validated = standing.integers({"validated"});
  at.plateau = {standing.number({"plateau_factor"}, 1.0), standing.maybe_number({"plateau_best"}),
                standing.integer({"plateau_worse"}, 0, 0, kMax)};
  return at;
}

std::int64_t Checkpoints::step_of(const fs::path& directory) {
  const std::string name = directory.filename().string();
  if (!name.starts_with(kFolderPrefix)) return -1;
  std::int64_t step = 0;
  for (char c : name.substr(kFolderPrefix.size())) {
    if (c < '0' || c > '9') return -1;
    step = step * 10 + (c - '0');
  }
  return step;
}

fs::path Checkpoints::of_step(std::int64_t step) const {
  return output_ / "checkpoints" / fmt::format("{}{}", kFolderPrefix, step);
}

std::vector<fs::path> Checkpoints::all() const {
  std::vector<fs::path> found;
  const fs::path folder = output_ / "checkpoints";
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      if (step_of(entry.path()) >= 0 && fs::exists(entry.path() / kWhole)) found.push_back(entry.path());
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return step_of(a) < step_of(b); });
  return found;
}

std::optional<fs::path> Checkpoints::newest() const {
  const std::vector<fs::path> found = all();
  return found.empty() ? std::nullopt : std::optional(found.back());
}

void Checkpoints::save(const Trainee& trainee, const TrainingState& state, const RunPosition& at) const {
  const fs::path target = of_step(at.step), unfinished = target.string() + ".unfinished";
  fs::remove_all(unfinished);
  trainee.save(unfinished);
  for (const fs::path& folder : {fs::path(), fs::path("generator")})
    if (fs::is_directory(unfinished / folder)) copy_companions(output_ / folder, unfinished / folder);
  write_tensors(unfinished / kOptimizer, state);
  if (!trainee.carried.empty()) write_tensors(unfinished / kCarried, trainee.carried);
  write_file_atomically(unfinished / kWhole, to_text(at));
  fs::remove_all(target);
  fs::rename(unfinished, target);
}

void Checkpoints::clean() const {
  const fs::path folder = output_ / "checkpoints";
  if (!fs::is_directory(folder)) return;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder))
    if (step_of(entry.path()) < 0 || !fs::exists(entry.path() / kWhole)) left.push_back(entry.path());
  for (const fs::path& path : left) fs::remove_all(path);
}

void Checkpoints::prune(std::size_t keep, const RunPosition& at) const {
  const std::vector<fs::path> found = all();
  const std::set<std::int64_t> validated(at.validated.begin(), at.validated.end());
  std::size_t regular = 0;
  for (std::size_t i = found.size(); i-- > 0;) {  // the newest first
    const std::int64_t step = step_of(found[i]);
    const bool counts = validated.count(step) > 0;
    const bool stays = i + 1 == found.size() || step == at.best_step || (counts && regular < keep);
    if (counts) ++regular;
    if (stays) continue;
    fs::remove(found[i] / kWhole);  // first, so that a partly removed checkpoint is not read
    fs::remove_all(found[i]);
  }
}

RunPosition Checkpoints::restore(const fs::path& checkpoint, Trainee& trainee, TrainingState& state,
                                 const AfterReading& after_reading) {
  const RunPosition at = read_run_position(read_file(checkpoint / kWhole), (checkpoint / kWhole).string());
  trainee.load_weights(checkpoint, after_reading);
  state = state_in(checkpoint);
  const fs::path carried = checkpoint / kCarried;
  if (fs::exists(carried)) trainee.carried = read_tensors(carried);
  return at;
}

TrainingState Checkpoints::state_in(const fs::path& checkpoint) {
  return map_tensors(checkpoint / kOptimizer);
}

void copy_model(const fs::path& checkpoint, const fs::path& to) {
  const std::set<fs::path> of_the_run = {kWhole, kOptimizer, kCarried};
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    const fs::path name = entry.path().lexically_relative(checkpoint);
    if (entry.is_regular_file() && !of_the_run.contains(name)) copy_file_atomically(entry.path(), to / name);
  }
}

void average_weights(const std::vector<fs::path>& checkpoints, Trainee& trainee) {
  Unrecorded no_grad;
  std::vector<Tensor> sums;  // in double: the mean of equal weights is that weight
  for (const fs::path& checkpoint : checkpoints) {
    trainee.load_weights(checkpoint);
    const std::vector<Tensor> weights = trainee.weights();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (sums.size() == i)
        sums.push_back(weights[i].to(kDouble));
      else
        sums[i] += weights[i];
    }
  }
  const std::vector<Tensor> weights = trainee.weights();
  for (std::size_t i = 0; i < sums.size(); ++i)
    weights[i].copy_(sums[i] / static_cast<double>(checkpoints.size()));
}

}  // namespace attend
