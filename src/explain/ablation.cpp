#include "explain/ablation.h"

#include "base/progress.h"
#include "explain/zeroed_values.h"
#include "training/measured_model.h"

#include <algorithm>

namespace attend {
namespace {

std::string usual_task(const ModelDirectory& directory) {
  const Family& family = find_family(directory.config());
  const std::vector<std::string> named = directory.architectures();
  const ModelSpec spec = family.spec(
      directory.config(), named.empty() ? family.architectures.front() : std::string_view(named.front()));
  if (spec.language_model_head)
    return spec.encoder && spec.decoder ? "sequence-to-sequence" : "language-model";
  if (spec.score_head) switch (spec.score_head->kind) {
      case ScoreKind::sequence_classification:
        return spec.encoder && spec.encoder->patches ? "image-classification" : "classification";
      case ScoreKind::token_classification:
        return "token-classification";
      case ScoreKind::question_answering:
        return "question-answering";
      case ScoreKind::multiple_choice:
        return "multiple-choice";
      default:
        break;
    }
  fail("{}: expected a model with a head that can be measured (a classifier, a language model), found {}",
       directory.path().string(), named.empty() ? "none" : named.front());
}

// One attention of a layer, and the matrix that reads the outputs of its heads.
struct Place {
  std::string attention;
  std::int64_t layer = 0;
  LinearImpl* matrix = nullptr;
  const AttentionSpec* spec = nullptr;
};

std::vector<Place> places_of(Transformer& network, const std::vector<std::int64_t>& wanted) {
  std::vector<Place> places;
  const bool two = network->is_encoder_decoder();
  for (Stack* stack : {&network->encoder, &network->decoder}) {
    if (!*stack) continue;
    const bool decoder = stack == &network->decoder;
    const auto& layers = (*stack)->spec().layers;
    for (std::int64_t i = 0; i < std::ssize(layers); ++i) {
      if (!wanted.empty() && std::ranges::find(wanted, i) == wanted.end()) continue;
      const OneLayer layer(*stack, i);
      places.push_back({!two      ? "self"
                        : decoder ? "decoder"
                                  : "encoder",
                        i, &layer.output(), &layer.spec().self_attention});
      if (LinearImpl* cross = layer.cross_output(); cross && two)
        places.push_back({"cross", i, cross, &*layer.spec().cross_attention});
    }
  }
  return places;
}

}  // namespace

Ablation ablate(const ModelPath& path, const AblationOptions& options) {
  Recipe recipe;
  recipe.model = path;
  recipe.objective = options.task.empty() ? usual_task(ModelDirectory(path)) : options.task;
  recipe.train = options.files;
  recipe.data = options.data;
  MeasuredModel measured(recipe);
  Transformer network = measured.model().network();
  const std::vector<Score> whole = measured.measure();
  Ablation result{.task = measured.objective(), .loss = find_score(whole, "loss").value, .layers = {}};
  if (const std::string telling = measured.main_score(); telling != "loss") {
    result.figure = telling;
    result.value = find_score(whole, telling).value;
  }
  const std::vector<Place> places = places_of(network, options.layers);
  if (places.empty()) fail("ablation: the model has none of these layers");
  std::uint64_t heads = 0, done = 0;
  for (const Place& place : places) heads += static_cast<std::uint64_t>(place.spec->heads);
  Progress progress("measuring without", heads, "heads");
  for (const Place& place : places) {
    Ablation::Layer layer{.attention = place.attention, .number = place.layer};
    for (std::int64_t head = 0; head < place.spec->heads; ++head) {
      const std::int64_t size = place.spec->head_size;
      const ZeroedInputs zeroed(*place.matrix, head * size, size, std::ssize(measured.model().adapters()));
      const std::vector<Score> scores = measured.measure();
      layer.loss.push_back(static_cast<float>(find_score(scores, "loss").value - result.loss));
      if (!result.figure.empty())
        layer.value.push_back(static_cast<float>(find_score(scores, result.figure).value - result.value));
      progress.update(++done);
    }
    result.layers.push_back(std::move(layer));
  }
  return result;
}

}  // namespace attend
