#include "objectives/shared/stored_scores.h"

#include "models/weights/tensors.h"

namespace attend {
namespace {

constexpr std::pair<const char*, ProblemType> kProblems[] = {
    {"single_label_classification", ProblemType::single_label},
    {"multi_label_classification", ProblemType::multi_label},
    {"regression", ProblemType::regression}};

std::string name_of(const std::optional<ProblemType>& problem) {
  for (const auto& [name, type] : kProblems)
    if (problem == type) return name;
  return "";
}

std::optional<ProblemType> problem_of(const std::string& name) {
  for (const auto& [known, type] : kProblems)
    if (name == known) return type;
  return {};
}

}  // namespace

StoredScores StoredScores::read(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  const auto& metadata = file.metadata();
  const auto names = metadata.find("labels"), problem = metadata.find("problem_type");
  const auto tensors = read_tensors(path);
  const auto scores = tensors.find("scores");
  if (names == metadata.end() || scores == tensors.end() || scores->second.dim() != 2 ||
      !scores->second.is_floating_point())
    fail(
        "{}: expected \"scores\" [examples, labels] and the metadata \"labels\"; an evaluation "
        "with `save_scores` writes such a file",
        path.string());
  StoredScores stored;
  const Json list = parse_json(names->second, path.string() + ": labels");
  if (!list.is_array()) fail("{}: labels: expected a list, found {}", path.string(), shown(list));
  for (const Json& name : list) {
    if (!name.is_string()) fail("{}: labels: expected texts, found {}", path.string(), shown(name));
    stored.labels.names.push_back(name);
  }
  if (problem != metadata.end()) stored.labels.problem = problem_of(problem->second);
  stored.scores = scores->second.to(kFloat);
  if (stored.scores.size(1) != static_cast<std::int64_t>(stored.labels.names.size()))
    fail("{}: expected scores of {} labels, found {}", path.string(), stored.labels.names.size(),
         stored.scores.size(1));
  if (!stored.scores.isfinite().all().item<bool>())
    fail("{}: expected finite scores, found some that are not", path.string());
  return stored;
}

void StoredScores::write(const std::filesystem::path& path) const {
  const Tensor host = scores.to(kFloat).contiguous();
  const std::span bytes(static_cast<const std::byte*>(host.const_data()),
                        static_cast<std::size_t>(host.bytes()));
  write_safetensors(path, {{"scores", {DType::f32, host.sizes().vec(), bytes}}},
                    {{"labels", Json(labels.names).dump()}, {"problem_type", name_of(labels.problem)}});
}

void ScoreCollector::add(const Batch& batch, const Tensor& scores) {
  const auto rows = static_cast<std::int64_t>(batch.examples.size());
  if (!scores.defined() || scores.dim() != 2 || scores.size(0) != rows)
    fail("`save_scores`: expected an objective with scores over labels for each example");
  if (!scores_.defined()) scores_ = ops::zeros({examples_, scores.size(1)});
  scores_.index_copy_(0, ops::tensor(batch.examples), scores.detach().to(kFloat));
}

}  // namespace attend
