// Texts into prompts, and what a model makes of them back into texts.
#pragma once

#include <attend/tasks.h>

#include "generation/generate.h"
#include "generation/text_stream.h"
#include "tasks/longest_text.h"

#include <span>
#include <string>
#include <vector>

namespace attend {

class PromptTexts {
 public:
  // `tokenizers` and `config` stay the caller's.
  PromptTexts(const PretrainedModel& model, const TokenizerPair& tokenizers, const GenerationConfig& config);
  // What an encoder-decoder's texts begin with. Error for a decoder, which goes on with its prompt.
  void begin_with(const std::string& prefix);
  // What a decoder's texts are led away from. Error without tokens, for an encoder-decoder, or where
  // guidance_scale is 1.
  void lead_away_from(const std::string& negative);

  // `special_tokens`: those that the tokenizer puts around a text. `longest`, if given, cuts: it keeps the
  // end of a prompt (keep_end), and of an encoder-decoder's text the side that the tokenizer says.
  std::vector<Prompt> read(const std::vector<std::string>& texts, bool special_tokens = true,
                           const LongestText* longest = nullptr) const;
  // The prompt of tokens that are given.
  Prompt read(std::span<const TokenId> ids) const;

  // What a result is shown behind: a decoder's prompt, or the prefix.
  const std::string& before(const std::string& text) const { return continues_ ? text : prefix_; }
  // Takes the tokens of a result, and gives its text, without the prompt.
  TextStream stream(const Prompt& prompt) const;
  std::string text(const Prompt& prompt, std::span<const std::int64_t> ids) const;

 private:
  const TokenizerPair& tokenizers_;
  const GenerationConfig& config_;
  std::string architecture_, prefix_;
  bool continues_;
  std::vector<std::int64_t> written_, negative_;
};

// Leaves the end of a decoder's prompt where it is longer than `longest` lets it be with max_new_tokens
// behind it, as transformers' handle_long_generation="hole" does, and says so once.
void keep_end(std::vector<std::int64_t>& prompt, const LongestText& longest, const GenerationConfig& config);

std::vector<TokenScore> token_scores(std::span<const Scored> scores);
// What programs get of a result, with its text, stop string included.
GeneratedText generated_text(const GeneratedSequence& made, std::string text, const GenerationConfig& config,
                             bool log_probabilities);

// Do both have the same tokens under the same ids?
bool same_tokens(const Tokenizer& a, const Tokenizer& b);

}  // namespace attend
