#include "models/sentence_texts.h"

#include "base/python_text.h"
#include "base/utf8.h"

namespace attend {

std::string prepare_text(const std::string& text, const SentencePooling& pooling) {
  const std::string whole = pooling.prompt + text;
  return pooling.lowercase && !find_invalid_utf8(whole) ? lowercase(whole) : whole;
}

}  // namespace attend
