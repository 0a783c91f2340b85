// Streamed text up to its stop string.
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"
#include "tasks/chat/chat_template.h"

#include <string>
#include <vector>

namespace attend {

// a stop string itself is never shown
class AnswerText {
 public:
  // `trims`: removes white space at the beginning of the text.
  AnswerText(std::vector<std::string> endings, bool trims) : endings_(std::move(endings)), trims_(trims) {}

  std::string put(const std::string& more);  // returns the text that can be shown now
  std::string finish();                      // the rest
  std::string all() const { return text_.substr(0, shown_); }
  bool has_ended() const;  // whether a stop string has occurred

 private:
  std::string show(std::size_t end);

  std::vector<std::string> endings_;
  bool trims_;
  std::string text_;
  std::size_t shown_ = 0;
};

// Answers end with config's stop_strings or with `ends`, the text that the template writes after an answer
// (empty ones are ignored); returns all of these. If one of them is a single token, that token also ends an
// answer: before its text is complete, and even if its text is never written.
std::vector<std::string> end_answers(GenerationConfig& config, const std::vector<std::string>& ends,
                                     const Tokenizer& tokenizer);

}  // namespace attend
