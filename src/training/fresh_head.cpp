#include "training/fresh_head.h"

#include "base/log.h"
#include "nn/transformer/initialize.h"

#include <algorithm>

namespace attend {
namespace {

bool makes_scores(const std::string& parameter) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"language_model_head.", "score_head.",
                                                                     "span_search.", "pixel_head."},
                             [&](std::string_view part) { return parameter.starts_with(part); });
}

}  // namespace

std::vector<std::string> draw_head(const PretrainedModel& model, std::uint64_t seed) {
  std::vector<std::string> modules;
  for (const auto& item : model.network()->named_parameters())
    if (makes_scores(item.key()))
      for (const std::string& name : model.source_of(item.key()).names) {
        const std::string module = model.saved_name(name.substr(0, name.rfind('.')));
        if (std::ranges::find(modules, module) == modules.end()) modules.push_back(module);
      }
  if (modules.empty())
    fail("`fresh_head`: {} has no head of its own that could be new", model.architecture());
  Transformer network = model.network();
  initialize(network, seed, makes_scores);
  inform("the head of {} is new: {}", model.architecture(), fmt::join(modules, ", "));
  return modules;
}

}  // namespace attend
