// All pipelines. A new one needs its own file and a line here.
#include "pipelines/pipeline.h"

#include <algorithm>

namespace attend {

#define ATTEND_PIPELINES(PIPELINE)   \
  PIPELINE(text_classification)      \
  PIPELINE(zero_shot_classification) \
  PIPELINE(image_classification)     \
  PIPELINE(token_classification)     \
  PIPELINE(fill_mask)                \
  PIPELINE(question_answering)       \
  PIPELINE(feature_extraction)       \
  PIPELINE(sentence_similarity)      \
  PIPELINE(sparse_vectors)           \
  PIPELINE(token_vectors)            \
  PIPELINE(rerank)                   \
  PIPELINE(text_generation)          \
  PIPELINE(text2text_generation)     \
  PIPELINE(summarization)            \
  PIPELINE(translation)

#define ATTEND_DECLARE(name) extern const PipelineKind name##_pipeline;
#define ATTEND_ADDRESS(name) &name##_pipeline,
ATTEND_PIPELINES(ATTEND_DECLARE)

std::span<const PipelineKind* const> pipelines() {
  static constexpr const PipelineKind* all[] = {ATTEND_PIPELINES(ATTEND_ADDRESS)};
  return all;
}

const PipelineKind* find_pipeline(const std::string& name) {
  const std::string usual = name == "sentiment-analysis"       ? "text-classification"
                            : name == "ner"                    ? "token-classification"
                            : name.starts_with("translation_") ? "translation"
                                                               : name;
  const auto found =
      std::ranges::find(pipelines(), usual, [](const PipelineKind* kind) { return kind->name; });
  return found == pipelines().end() ? nullptr : *found;
}

}  // namespace attend
