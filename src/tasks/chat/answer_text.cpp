#include "tasks/chat/answer_text.h"

#include <algorithm>

namespace attend {
namespace {

// The position where a beginning of `ending` at the end of the text starts; the text's size if there is none.
std::size_t held_back(std::string_view text, std::string_view ending) {
  for (std::size_t length = std::min(ending.size(), text.size()); length > 0; --length)
    if (text.ends_with(ending.substr(0, length))) return text.size() - length;
  return text.size();
}

}  // namespace

std::string AnswerText::put(const std::string& more) {
  text_ += more;
  if (trims_ && shown_ == 0) text_.erase(0, std::min(text_.find_first_not_of(" \t\n"), text_.size()));
  std::size_t end = text_.size();
  for (const std::string& ending : endings_)
    end = std::min({end, text_.find(ending), held_back(text_, ending)});
  return show(end);
}

std::string AnswerText::finish() {
  std::size_t end = text_.size();
  for (const std::string& ending : endings_) end = std::min(end, text_.find(ending));
  return show(end);
}

bool AnswerText::has_ended() const {
  return std::ranges::any_of(endings_,
                             [&](const std::string& ending) { return text_.find(ending) != text_.npos; });
}

std::string AnswerText::show(std::size_t end) {
  if (end <= shown_) return {};
  const std::string more = text_.substr(shown_, end - shown_);
  shown_ = end;
  return more;
}

std::vector<std::string> end_answers(GenerationConfig& config, const std::vector<std::string>& ends,
                                     const Tokenizer& tokenizer) {
  std::vector<std::string> endings = config.stop_strings;
  for (const std::string& end : ends)
    if (!end.empty()) endings.push_back(end);
  config.stop_strings = endings;
  for (const std::string& ending : endings)
    if (const auto token = tokenizer.token_to_id(ending); token && !is_eos(config, *token))
      config.eos_token_id.push_back(*token);
  return endings;
}

}  // namespace attend
