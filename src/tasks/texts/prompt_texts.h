// Turns texts into prompts, and generated tokens back into texts.
#pragma once

#include <attend/tasks.h>

#include "generation/generate.h"
#include "generation/text_stream.h"
#include "tasks/texts/longest_text.h"

#include <span>
#include <string>
#include <vector>

namespace attend {

class PromptTexts {
 public:
  // The caller owns `tokenizers` and `config`.
  PromptTexts(const PretrainedModel& model, const TokenizerPair& tokenizers, const GenerationConfig& config);
  // Sets the start of an encoder-decoder's texts. Throws Error for a decoder, which continues its prompt.
  void begin_with(const std::string& prefix);
  // Sets the negative prompt of a decoder. Throws Error without tokens, for an encoder-decoder, or if
  // guidance_scale is 1.
  void lead_away_from(const std::string& negative);

  // Special tokens that belong to the text of a result; others are left out.
  void show(std::vector<TokenId> special_tokens) { shown_ = std::move(special_tokens); }

  // `special_tokens`: those that the tokenizer adds. `longest`, if given, truncates: it keeps the end of a
  // prompt (keep_end), and of an encoder-decoder's text the tokenizer's side.
  std::vector<Prompt> read(const std::vector<std::string>& texts, bool special_tokens = true,
                           const LongestText* longest = nullptr) const;
  // The prompt from given tokens.
  Prompt read(std::span<const TokenId> ids) const;

  // The text before a result: a decoder's prompt, or the prefix.
  const std::string& before(const std::string& text) const { return continues_ ? text : prefix_; }
  // Takes the tokens of a result and returns its text, without the prompt.
  TextStream stream(const Prompt& prompt) const;
  std::string text(const Prompt& prompt, std::span<const std::int64_t> ids) const;

 private:
  const TokenizerPair& tokenizers_;
  const GenerationConfig& config_;
  std::string architecture_, prefix_;
  bool continues_;
  std::vector<std::int64_t> written_, negative_;
  std::vector<TokenId> shown_;
};

// Keeps the end of a decoder's prompt if it is too long for `longest` with max_new_tokens after it, as
// transformers' handle_long_generation="hole" does, and logs it once.
void keep_end(std::vector<std::int64_t>& prompt, const LongestText& longest, const GenerationConfig& config);

std::vector<TokenScore> token_scores(std::span<const Scored> scores);
// A result in the public format, with its text, stop string included.
GeneratedText generated_text(const GeneratedSequence& made, std::string text, const GenerationConfig& config,
                             bool log_probabilities);

// Whether both have the same tokens under the same ids.
bool same_tokens(const Tokenizer& a, const Tokenizer& b);

}  // namespace attend
