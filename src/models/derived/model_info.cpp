#include "models/derived/model_info.h"

#include "models/checkpoint/found_architecture.h"

#include <fmt/format.h>

namespace attend {
namespace {

// The architecture that is loaded, if config.json does not name it.
void find_architecture(const ModelDirectory& directory, const WeightFiles& checkpoint,
                       Inspection& inspection) {
  const Family* const family = known_family(directory.config());
  if (family == nullptr) return;
  inspection.architectures = {found_architecture(*family, directory.config(), checkpoint)};
  inspection.unusual.push_back(
      fmt::format("config.json names no architecture; its tensors fit {}", inspection.architectures.front()));
}

}  // namespace

Inspection describe_model(const ModelDirectory& directory, const WeightFiles& checkpoint, bool check_values) {
  Inspection inspection = inspect_model(directory, checkpoint, check_values);
  if (inspection.architectures.empty()) find_architecture(directory, checkpoint, inspection);
  return inspection;
}

ModelInfo v1::inspect(const ModelPath& model, bool check_values) {
  const ModelDirectory directory(model);
  return describe_model(directory, directory.weight_files(), check_values);
}

}  // namespace attend
