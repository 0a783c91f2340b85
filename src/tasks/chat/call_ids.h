// Ids of calls as a chat template expects them.
#pragma once

#include "formats/chat_answers/answer_format.h"

#include <map>

namespace attend {

// Goes through the messages of a conversation, and replaces the ids that the template would refuse or that
// its model would not understand. A result gets the id of its call; without an id it belongs to the next
// call.
class CallIdWriter {
 public:
  explicit CallIdWriter(CallIds ids) : ids_(ids) {}
  void rewrite(Json& message);

 private:
  void rewrite_call(Json& call);
  std::string expected_id(const std::string& id, const std::string& name);

  CallIds ids_;
  std::size_t calls_ = 0;                     // in all messages so far
  std::map<std::string, std::string> given_;  // the new ids of replaced ones
  std::vector<std::string> open_;             // ids of the last calls, which have no result yet
};

}  // namespace attend
