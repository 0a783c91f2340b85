// Translation by an encoder-decoder.
//
//   attend::Translator translator("opus-mt-en-de");
//   auto translations = translator.translate({"A dog runs on the beach."});
#pragma once

#include <attend/export.h>
#include <attend/generation_config.h>
#include <attend/model_path.h>
#include <attend/run_options.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct TranslateOptions : RunOptions {
  Configure configure = {};  // changes the model's config (generation_config.h)
  std::string prefix;        // the start of every translation
  // For multilingual models (M2M-100, NLLB): both languages, as transformers' src_lang and tgt_lang ("en",
  // "eng_Latn"). Empty: the tokenizer's settings and forced_bos_token_id; an Error if they give no target
  // language.
  std::string source_language, target_language;
  std::uint64_t seed = 0;  // for sampling
};

// Translates text with an encoder-decoder (Marian, or a model from `attend train`).
class ATTEND_API Translator {
 public:
  explicit Translator(const ModelPath& model);

  // One translation per text, in order. Throws Error for a text longer than the model's maximum, unless
  // `truncate`.
  std::vector<std::string> translate(const std::vector<std::string>& texts,
                                     const TranslateOptions& options = {});
  // num_return_sequences translations per text, best first. With return_alternatives they
  // start with different tokens; a missing alternative is an empty text.
  std::vector<std::vector<std::string>> translate_several(const std::vector<std::string>& texts,
                                                          const TranslateOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace v1
}  // namespace attend
