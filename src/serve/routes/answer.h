// The answer to one request for texts, whole or as a stream, in the formats of OpenAI's API.
#pragma once

#include "serve/routes/text_requests.h"

#include <ctime>

namespace attend::serve {

// The differences between completions and chats.
struct AnswerForm {
  const char* id;
  const char* object;  // name of a complete answer's object
  const char* chunk;   // name of a chunk's object
  bool is_chat;
};
extern const AnswerForm kCompletion, kChat;

// The output for a prompt before its texts (RequestSettings::echo); with log-probabilities also its tokens.
struct Echo {
  std::string text;
  std::vector<ReportedToken> tokens = {};
};

// Called by the queue's thread with the texts of one prompt or several.
class Answer : public TextReader {
 public:
  // `echoes`: one for each prompt, or empty.
  Answer(const AnswerForm& form, const ChosenModel& chosen, const RequestSettings& requested,
         std::size_t prompts, std::vector<Echo> echoes);

  void take(std::size_t p, const QueueToken& token) override;
  void end(std::size_t p, const QueueResult& result) override;

 private:
  // The chunk of a choice that is sent at a time.
  struct Pieces {
    std::string text, reasoning;
    std::vector<ToolCallPiece> calls;
  };
  struct Choice {
    std::string sent, sent_reasoning;  // without the echo
    std::vector<ToolCall> sent_calls;
    bool begun = false;
    std::unique_ptr<TokenReport> report;  // if requested
  };

  Json head(const char* object) const;
  Json usage() const;
  void finish(std::size_t p, const QueueResult& result);
  // The texts of a prompt that are the answer, among those that the queue made.
  std::vector<GeneratedText> choose(const std::vector<GeneratedText>& made) const;
  void report(Choice& choice, const GeneratedText& text) const;
  void send_piece(std::size_t i, Json piece, const Json& finish);
  void send_pieces(std::size_t i, const Pieces& pieces, const Json& finish);
  Json chat_delta(Choice& choice, bool begun, const Pieces& pieces) const;
  // The unsent rest: the last letters, or in a beam search the whole text.
  static Pieces rest_of(const Choice& choice, const GeneratedText& text);
  void end_stream();
  Json whole();
  void fail_with(const std::exception_ptr& error);

  const AnswerForm& form_;
  const RequestSettings requested_;
  ServedModel& model_;
  const std::string name_, id_;
  const std::time_t created_ = std::time(nullptr);
  const std::vector<Echo> echoes_;
  std::vector<Choice> choices_;                    // those of the first prompt first
  std::vector<std::vector<GeneratedText>> texts_;  // by prompt
  std::size_t open_;                               // prompts
  std::size_t prompt_tokens_ = 0, new_tokens_ = 0;
  bool begun_ = false;  // a chunk was sent
  bool over_ = false;   // the request has failed
};

}  // namespace attend::serve
