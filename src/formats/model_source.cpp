#include "formats/model_source.h"

#include "formats/ctranslate2_model.h"
#include "formats/gguf_model.h"
#include "formats/hugging_face_source.h"
#include "formats/sentence_modules.h"

namespace attend {

std::optional<SentenceDirectory> ModelSource::stored_sentences() const {
  return {};
}

std::unique_ptr<const ModelSource> open_source(const std::filesystem::path& path) {
  if (is_gguf(path)) return std::make_unique<GgufSource>(path);
  if (is_ctranslate2(path)) return std::make_unique<CTranslate2Source>(path);
  return std::make_unique<HuggingFaceSource>(path);
}

}  // namespace attend
