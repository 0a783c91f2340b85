// Streamed text up to its stop string.
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"
#include "tasks/chat_template.h"

#include <string>
#include <vector>

namespace attend {

// Holds back text that may become a stop string; a stop string itself is never shown.
class AnswerText {
 public:
  // `trims`: the text begins with no white space.
  AnswerText(std::vector<std::string> endings, bool trims) : endings_(std::move(endings)), trims_(trims) {}

  std::string put(const std::string& more);  // the text that can be shown now
  std::string finish();                      // the rest
  std::string all() const { return text_.substr(0, shown_); }
  bool has_ended() const;  // there is an ending

 private:
  std::string show(std::size_t end);

  std::vector<std::string> endings_;
  bool trims_;
  std::string text_;
  std::size_t shown_ = 0;
};

// Answers end with config's stop_strings or with `ends`, what the template writes after an answer (empty ones
// do not count); returns all of these. If one of them is a single token, it also ends an answer: earlier than
// its text, and also if its text is never written.
std::vector<std::string> end_answers(GenerationConfig& config, const std::vector<std::string>& ends,
                                     const Tokenizer& tokenizer);

}  // namespace attend
