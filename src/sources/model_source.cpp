#include "sources/model_source.h"

#include "sources/ctranslate2/ctranslate2_model.h"
#include "sources/gguf/gguf_model.h"
#include "sources/hugging_face_source.h"
#include "sources/sentence_modules.h"

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
