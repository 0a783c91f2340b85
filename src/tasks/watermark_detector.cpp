#include <attend/tasks.h>

#include "generation/config/config.h"
#include "generation/config/watermark.h"
#include "models/checkpoint/pretrained_model.h"

namespace attend {

struct WatermarkDetector::State {
  GenerationConfig config;
  std::int64_t vocabulary;
  TokenizerPair tokenizers;
};

WatermarkDetector::WatermarkDetector(const ModelPath& path, const std::optional<Watermark>& watermark) {
  const ModelDirectory directory(path);
  const PretrainedModel model = PretrainedModel::load(directory, Purpose::inference);
  GenerationConfig config = generation_config_of(model);
  if (watermark) config.watermark = watermark;
  if (!config.watermark)
    fail(
        "{}: expected a watermarking_config in the model's generation_config.json, or `generation_config` "
        "with one",
        directory.path().string());
  const Transformer network = model.network();
  const std::int64_t vocabulary =
      (network->decoder ? network->decoder : network->encoder)->spec().embeddings.vocabulary;
  check_config(config, vocabulary);
  state_ = std::make_shared<const State>(
      State{std::move(config), vocabulary, TokenizerPair::from_file(directory.path())});
}

std::vector<WatermarkFinding> WatermarkDetector::find(const std::vector<std::string>& texts) const {
  std::vector<WatermarkFinding> found;
  for (const std::string& text : texts) {
    const auto ids =
        state_->tokenizers.target->encode(text, {.special_tokens = false, .with_details = false}).ids;
    const WatermarkCount count = count_marks(*state_->config.watermark, state_->vocabulary,
                                             std::vector<std::int64_t>(ids.begin(), ids.end()));
    found.push_back({static_cast<std::size_t>(count.tokens), count.share, count.expected, count.z, count.p});
  }
  return found;
}

}  // namespace attend
