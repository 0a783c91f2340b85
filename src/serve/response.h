// The answer of /v1/responses, whole or as a stream of events.
#pragma once

#include "serve/text_requests.h"

#include <ctime>
#include <optional>

namespace attend::serve {

// Its output is a list of items: a message, and tool calls. Called by the queue's thread.
class Response : public TextReader {
 public:
  Response(const Asked& asked, const Fields& body, const Wishes& wishes);

  void take(std::size_t p, const QueueToken& token) override;
  void end(std::size_t p, const QueueResult& result) override;

 private:
  struct Call {
    ToolCall call;  // the sent call
    int place;      // in the output
  };

  void say(const char* type, Json event);
  void begin();
  void say_text(const std::string& more);
  void end_text(const char* status);
  void say_call(const ToolCallPiece& piece);
  void end_call(Call& call, const char* status);
  void end_stream(const GeneratedText& made, std::size_t prompt_tokens);
  Json text_place(Json event) const;
  Json message_item(const std::string& text, const char* status) const;
  Json call_item(const ToolCall& call, const char* status) const;
  Json output(const GeneratedText& made) const;
  Json whole(const GeneratedText* made, std::size_t prompt_tokens) const;
  void fail_with(const std::exception_ptr& error);

  const std::string model_, id_;
  const bool streams_;
  Json metadata_, tools_, tool_choice_, parallel_;
  const Json settings_;
  const std::time_t created_ = std::time(nullptr);
  std::string text_;               // the sent text
  std::optional<int> text_place_;  // index of the message in the output
  bool text_ended_ = false;
  std::vector<Call> calls_;
  int places_ = 0;
  bool begun_ = false;
  int number_ = 0;  // number of events
};

}  // namespace attend::serve
