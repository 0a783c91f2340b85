// Labels for pictures (Dosovitskiy et al. 2020).
#include <attend/tasks.h>

#include "models/forward.h"
#include "tasks/label_scores.h"
#include "tasks/text_model.h"
#include "vision/image_processor.h"

#include <algorithm>

namespace attend {

struct ImageClassifier::State {
  PretrainedModel model;
  ImageProcessor processor;
  std::vector<std::string> labels;

  explicit State(const ModelDirectory& directory)
      : model(PretrainedModel::load(directory, Purpose::inference)),
        processor(directory.path()),
        labels(read_labels(directory.config())) {
    if (!model.network()->reads_images() || !model.network()->score_head)
      fail("{}: expected a model that classifies pictures (ViTForImageClassification), found {}",
           directory.path().string(), model.architecture());
    const std::int64_t channels = model.network()->encoder->patches->spec().channels;
    if (channels != processor.channels())
      fail(
          "{}: expected a model of pictures with {} channels, as preprocessor_config.json has them, found {}",
          directory.path().string(), processor.channels(), channels);
  }

  // A file that cannot be read is a bad input like one that holds no picture.
  Tensor read(const std::filesystem::path& image) const {
    const ErrorScope scope(ErrorKind::input);
    try {
      return processor(read_image(image));
    } catch (const Error& error) {
      throw Error(error.what(), ErrorKind::input);
    }
  }

  // Unlike for texts, a regression gets a function as well.
  ScoreFunction function() const {
    const ScoreHeadSpec& head = model.network()->score_head->spec();
    return head.problem == ProblemType::multi_label || head.labels == 1 ? ScoreFunction::sigmoid
                                                                        : ScoreFunction::softmax;
  }
};

ImageClassifier::ImageClassifier(const ModelPath& model)
    : state_(std::make_shared<State>(ModelDirectory(model))) {}

std::vector<std::vector<LabelScore>> ImageClassifier::classify(
    const std::vector<std::filesystem::path>& images, const ImageOptions& options) {
  const c10::InferenceMode inference;
  const ScoreFunction function =
      options.function == ScoreFunction::by_model ? state_->function() : options.function;
  std::vector<std::vector<LabelScore>> results;
  while (results.size() < images.size()) {
    std::vector<Tensor> batch;
    std::int64_t tokens = 0;
    for (std::size_t i = results.size(); i < images.size(); ++i) {
      const Tensor pixels = state_->read(images[i]);
      // Without a common size, pictures of another one wait for the next batch.
      if (!batch.empty() && batch.front().sizes() != pixels.sizes()) break;
      batch.push_back(pixels);
      const auto [rows, columns] = state_->model.network()->encoder->patches->grid(pixels.unsqueeze(0));
      tokens += 1 + rows * columns;
      if (tokens >= options.batch_tokens) break;
    }
    const Tensor scores =
        run_forward(state_->model, {{"pixel_values", at::stack(batch)}}, {.adapter = options.adapter})
            .at("logits");
    for (std::int64_t b = 0; b < scores.size(0); ++b)
      results.push_back(
          best_labels(numbers(apply_function(function, scores[b])), state_->labels, options.top_k));
    if (options.on_progress) options.on_progress(results.size(), images.size());
  }
  return results;
}

}  // namespace attend
