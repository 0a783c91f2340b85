// The answer of /v1/responses, whole or as a stream of events.
#pragma once

#include "serve/routes/text_requests.h"

#include <ctime>
#include <optional>

namespace attend::serve {

// Its output is a list of items: reasoning, a message, and calls of tools. Brought by the queue's thread.
class Response : public TextReader {
 public:
  Response(const std::string& model, const Fields& body, const RequestSettings& requested);

  void take(std::size_t p, const QueueToken& token) override;
  void end(std::size_t p, const QueueResult& result) override;

 private:
  struct Call {
    ToolCall call;  // the sent call
    int place;      // in the output
  };
  // An item whose text is streamed: reasoning or a message.
  struct Form {
    const char *id, *part, *event;
  };
  struct Said {
    const Form& form;
    std::string text = {};          // that was sent
    std::optional<int> place = {};  // in the output
    bool ended = false;
  };
  static const Form kReasoning, kMessage;

  void say(const std::string& type, Json event);
  void begin();
  void say_more(Said& said, const std::string& more);
  void end_text(Said& said, const char* status);
  void say_call(const ToolCallPiece& piece);
  void end_call(Call& call, const char* status);
  void end_stream(const GeneratedText& made, std::size_t prompt_tokens);
  Json place_of(const Said& said, Json event) const;
  Json text_item(const Form& form, const std::string& text, const char* status) const;
  Json call_item(const ToolCall& call, const char* status) const;
  Json output(const GeneratedText& made) const;
  Json whole(const GeneratedText* made, std::size_t prompt_tokens) const;
  void fail_with(const std::exception_ptr& error);

  const std::string model_, id_;
  const bool streams_;
  const Json echoed_;  // fields of the request that come back
  const Json settings_;
  const std::time_t created_ = std::time(nullptr);
  Said reasoning_{kReasoning}, message_{kMessage};
  std::vector<Call> calls_;
  int places_ = 0;
  bool begun_ = false;
  int number_ = 0;  // number of events
};

}  // namespace attend::serve
