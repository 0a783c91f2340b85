// The answer to one request for texts, whole or as a stream, in the forms of OpenAI's API.
#pragma once

#include "serve/text_requests.h"

#include <ctime>

namespace attend::serve {

// How completions and chats differ.
struct AnswerForm {
  const char* id;
  const char* object;  // of a whole answer
  const char* chunk;   // of a piece
  bool is_chat;
};
extern const AnswerForm kCompletion, kChat;

// What is said of a prompt before its texts (Wishes::echo); with log-probabilities also its tokens.
struct Echo {
  std::string text;
  std::vector<ReportedToken> tokens = {};
};

// Brought by the queue's thread: the texts of one prompt or several.
class Answer : public TextReader {
 public:
  // `echoes`: one for each prompt, or none at all.
  Answer(const AnswerForm& form, const Asked& asked, const Wishes& wishes, std::size_t prompts,
         std::vector<Echo> echoes);

  void take(std::size_t p, const QueueToken& token) override;
  void end(std::size_t p, const QueueResult& result) override;

 private:
  // What is sent of a choice at a time.
  struct Pieces {
    std::string text, reasoning;
    std::vector<ToolCallPiece> calls;
  };
  struct Choice {
    std::string sent, sent_reasoning;  // without what is echoed
    std::vector<ToolCall> sent_calls;
    bool begun = false;
    std::unique_ptr<TokenReport> report;  // if it was asked for
  };

  Json head(const char* object) const;
  Json usage() const;
  void finish(std::size_t p, const QueueResult& result);
  // Of the texts that the queue made for a prompt, those that are the answer.
  std::vector<GeneratedText> choose(const std::vector<GeneratedText>& made) const;
  void report(Choice& choice, const GeneratedText& text) const;
  void send_piece(std::size_t i, Json piece, const Json& finish);
  void send_pieces(std::size_t i, const Pieces& pieces, const Json& finish);
  Json chat_delta(Choice& choice, bool begun, const Pieces& pieces) const;
  // What has not been sent yet: the last letters, or of a beam search all.
  static Pieces rest_of(const Choice& choice, const GeneratedText& text);
  void end_stream();
  Json whole();
  void fail_with(const std::exception_ptr& error);

  const AnswerForm& form_;
  const Wishes wishes_;
  ServedModel& model_;
  const std::string name_, id_;
  const std::time_t created_ = std::time(nullptr);
  const std::vector<Echo> echoes_;
  std::vector<Choice> choices_;                    // those of the first prompt first
  std::vector<std::vector<GeneratedText>> texts_;  // by prompt
  std::size_t open_;                               // prompts
  std::size_t prompt_tokens_ = 0, new_tokens_ = 0;
  bool begun_ = false;  // a piece was sent
  bool over_ = false;   // has failed
};

}  // namespace attend::serve
