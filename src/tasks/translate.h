// Translation with a loaded model and tokenizer; <attend/translator.h> has the class for users.
#pragma once

#include <attend/translator.h>

#include "models/checkpoint/pretrained_model.h"
#include "tasks/languages.h"
#include "tasks/texts/longest_text.h"

namespace attend {

// The ids of each text, truncated if `longest` is given and `truncate` is set. Throws Error for one longer
// than the encoder's maximum, and names it.
std::vector<std::vector<std::int64_t>> encode_sources(const PretrainedModel& model,
                                                      const Tokenizer& tokenizer,
                                                      const std::vector<std::string>& texts,
                                                      const LongestText* longest = nullptr,
                                                      bool truncate = false);

// As Translator's functions, which know the model's languages. Without them the model itself chooses the
// target language, as it has learned in training. `longest` is needed for TranslateOptions::truncate.
std::vector<std::vector<std::string>> translate_several(const PretrainedModel& model,
                                                        const TokenizerPair& tokenizers,
                                                        const std::vector<std::string>& texts,
                                                        const TranslateOptions& options,
                                                        const Languages* languages = nullptr,
                                                        const LongestText* longest = nullptr);
std::vector<std::string> translate(const PretrainedModel& model, const TokenizerPair& tokenizers,
                                   const std::vector<std::string>& texts, const TranslateOptions& options);

}  // namespace attend
