// Questions and their contexts as model inputs: the question, then the context. If both are too long
// together, several overlapping windows of the context follow the whole question (Devlin et al. 2018,
// arXiv:1810.04805, section 4.2; transformers' run_qa). Every text is tokenized once, and a context that
// several questions share is stored once.
#pragma once

#include "data/questions.h"
#include "objectives/shared/text_frame.h"

#include <optional>

namespace attend {

struct WindowOptions {
  std::int64_t longest = 384;  // tokens of a window, with the question and the special ones
  // Tokens that a window shares with the one before it; at most half of what the question leaves.
  std::int64_t stride = 128;
  bool with_types = false;
  std::optional<TokenId> none = {};  // the token that means no answer (CLS); absent: the first token
};

class QuestionWindows {
 public:
  // A question that leaves no room for a context has no window.
  QuestionWindows(const Tokenizer& tokenizer, const std::vector<ContextQuestion>& questions,
                  const WindowOptions& options);

  // The start and end of an answer: tokens of a window, both included.
  struct Place {
    std::int64_t start = 0, end = 0;
  };
  struct Window {
    std::size_t question;
    std::size_t begin, end;  // the tokens of the context in it
    std::int64_t offset;     // the position of the first of them in the window
    std::int64_t none;       // the position that means no answer
    Place answer;            // the first of the answers; `none` twice if it is not whole in the window
    std::int64_t tokens;
  };
  const std::vector<Window>& windows() const { return windows_; }
  EncodedText text(const Window& window) const;
  // The span of the context between two positions of a window.
  std::string answer(const Window& window, const Place& place) const;

  std::size_t questions() const { return questions_.size(); }
  const std::vector<std::string>& answers(std::size_t question) const { return questions_[question].answers; }
  bool some_without_answer() const;

 private:
  struct Context {
    std::string text;
    std::vector<TokenId> ids;
    std::vector<TextSpan> characters;
  };
  struct Question {
    std::size_t context;
    std::vector<TokenId> ids;
    std::vector<std::string> answers;
    std::optional<TextSpan> first;  // the start of the first answer, in characters
  };
  void encode(const Tokenizer& tokenizer, const std::vector<ContextQuestion>& questions);
  void cut(std::size_t question, const WindowOptions& options);
  Place place_of(const Window& window, const TextSpan& answer) const;

  TextFrame frame_;
  std::vector<Context> contexts_;
  std::vector<Question> questions_;
  std::vector<Window> windows_;
};

}  // namespace attend
