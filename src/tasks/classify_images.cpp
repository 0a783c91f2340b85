// Labels for pictures (Dosovitskiy et al. 2020).
#include <attend/tasks.h>

#include "models/padded/forward.h"
#include "tasks/texts/label_scores.h"
#include "tasks/texts/text_model.h"
#include "vision/image_processor.h"

#include <algorithm>

namespace attend {

struct ImageClassifier::State {
  PretrainedModel model;
  ImageProcessor processor;

  explicit State(const ModelDirectory& directory)
      : model(PretrainedModel::load(directory, Purpose::inference)), processor(directory.path()) {
    if (!model.network()->reads_images() || !model.network()->score_head)
      fail("{}: expected a model that classifies pictures (ViTForImageClassification), found {}",
           directory.path().string(), model.architecture());
    const std::int64_t channels = model.network()->encoder->patches->spec().channels;
    if (channels != processor.channels())
      fail(
          "{}: expected a model of pictures with {} channels, as preprocessor_config.json has them, found {}",
          directory.path().string(), processor.channels(), channels);
  }

  // A file that cannot be opened is bad input, like a file without a picture.
  Tensor read(const Picture& picture) const {
    const ErrorScope scope(ErrorKind::input);
    try {
      return processor(picture.bytes ? decode_image(*picture.bytes, picture.path) : read_image(picture.path));
    } catch (const Error& error) {
      throw Error(error.what(), ErrorKind::input);
    }
  }

  // Unlike for texts, the function is also applied to a regression.
  static ScoreFunction function(const PretrainedModel& model) {
    const ScoreHeadSpec& head = model.network()->score_head->spec();
    return head.problem == ProblemType::multi_label || head.labels == 1 ? ScoreFunction::sigmoid
                                                                        : ScoreFunction::softmax;
  }
};

ImageClassifier::ImageClassifier(const ModelPath& model)
    : state_(std::make_shared<State>(ModelDirectory(model))) {}

std::vector<std::vector<LabelScore>> ImageClassifier::classify(
    const std::vector<std::filesystem::path>& images, const ImageOptions& options) {
  std::vector<Picture> pictures;
  for (const std::filesystem::path& image : images) pictures.push_back({image});
  return classify(pictures, options);
}

std::vector<std::vector<LabelScore>> ImageClassifier::classify(const std::vector<Picture>& pictures,
                                                               const ImageOptions& options) {
  const Unrecorded inference;
  const PretrainedModel& model = state_->model.with_adapter(options.adapter);
  if (!model.network()->score_head)
    fail("expected a model that classifies pictures, found {}", model.architecture());
  const std::vector<std::string> labels = read_labels(model.config());
  const ScoreFunction function =
      options.function == ScoreFunction::by_model ? State::function(model) : options.function;
  std::vector<std::vector<LabelScore>> results;
  while (results.size() < pictures.size()) {
    std::vector<Tensor> batch;
    std::int64_t tokens = 0;
    for (std::size_t i = results.size(); i < pictures.size(); ++i) {
      const Tensor pixels = state_->read(pictures[i]);
      // Without a common size, a picture of another size waits for the next batch.
      if (!batch.empty() && batch.front().sizes() != pixels.sizes()) break;
      batch.push_back(pixels);
      const auto [rows, columns] = state_->model.network()->encoder->patches->grid(pixels.unsqueeze(0));
      tokens += 1 + rows * columns;
      if (tokens >= options.batch_tokens) break;
    }
    const Tensor scores =
        run_forward(state_->model, {{"pixel_values", ops::stack(batch)}}, {.adapter = options.adapter})
            .at("logits");
    for (std::int64_t b = 0; b < scores.size(0); ++b)
      results.push_back(best_labels(numbers(apply_function(function, scores[b])), labels, options.top_k));
    if (options.on_progress) options.on_progress(results.size(), pictures.size());
  }
  return results;
}

}  // namespace attend
