#include "models/checkpoint/found_architecture.h"

#include "base/error.h"
#include "models/adapters/adapter.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/checkpoint/weight_reader.h"
#include "nn/transformer/transformer.h"

#include <set>

namespace attend {
namespace {

struct Fit {
  bool complete = true;
  std::size_t placed = 0;  // tensors of the checkpoint that the architecture uses
};

Fit fit(const Family& family, const Fields& config, std::string_view architecture,
        const WeightFiles& checkpoint, const std::vector<std::shared_ptr<Adapter>>& adapters) {
  ModelSpec spec = family.spec(config, architecture);
  if (has_head(architecture, Head::body)) spec.pooler = false;  // it may be missing
  const std::vector<WeightName> table = family.weights(spec);
  const WeightReader reader(checkpoint, family.prefix, adapters, "");
  std::set<std::string> places;  // in every spelling; a table may have rows of other architectures too
  Transformer network(spec);     // only address space: its weights are not written
  for (const auto& item : network->named_parameters()) {
    const WeightSource source = find_source(table, item.key());
    for (std::size_t i = 0; i < source.names.size(); ++i) {
      if (!reader.has(i, source, item.value(), /*shape=*/true)) return {.complete = false};
      for (std::string& spelling : spellings(source.names[i], family.prefix))
        places.insert(std::move(spelling));
    }
  }
  Fit result;
  for (const auto& [name, view] : checkpoint.tensors()) result.placed += places.contains(name);
  return result;
}

}  // namespace

std::string found_architecture(const Family& family, const Fields& config, const WeightFiles& checkpoint,
                               const std::vector<std::shared_ptr<Adapter>>& adapters,
                               std::optional<Head> wanted) {
  std::string_view best = family.architectures.front();
  // Whether it has the head, and how many tensors it uses.
  std::optional<std::pair<bool, std::size_t>> best_quality;
  for (const std::string_view architecture : family.architectures) {
    Fit found;
    try {
      found = fit(family, config, architecture, checkpoint, adapters);
    } catch (const Error&) {
      continue;  // the config does not fit it
    }
    if (!found.complete) continue;
    const std::pair quality(wanted && has_head(architecture, *wanted), found.placed);
    if (best_quality && quality <= *best_quality) continue;
    best_quality = quality;
    best = architecture;
  }
  return std::string(best);
}

std::string architecture_with(const ModelDirectory& directory, Head head) {
  if (!directory.architectures().empty()) return {};
  if (directory.loaded() != nullptr && has_head(directory.loaded()->architecture(), head)) return {};
  std::vector<std::shared_ptr<Adapter>> adapters;
  for (const AdapterPath& path : directory.adapters())
    adapters.push_back(std::make_shared<Adapter>(path.directory));
  return found_architecture(find_family(directory.config()), directory.config(), directory.weight_files(),
                            adapters, head);
}

}  // namespace attend
