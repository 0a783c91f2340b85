// Requests for texts before they reach a model's queue.
#pragma once

#include "serve/http/pipe.h"
#include "serve/models/served_models.h"

namespace attend::serve {

// Limits on the work of one model.
struct TextBounds {
  std::size_t waiting = 256;                           // prompts that wait
  std::size_t waiting_tokens = std::size_t{1} << 20U;  // of these prompts
  std::int64_t new_tokens = 131072;  // of one request: new tokens times beams or texts, for all its prompts
};

// Called by the queue's thread with the texts of one prompt or several, which become a reply.
class TextReader {
 public:
  virtual ~TextReader() = default;
  // Of prompt number p.
  virtual void take(std::size_t p, const QueueToken& token) = 0;
  virtual void end(std::size_t p, const QueueResult& result) = 0;
  const std::shared_ptr<Pipe>& pipe() const { return pipe_; }

 private:
  const std::shared_ptr<Pipe> pipe_ = std::make_shared<Pipe>();
};

// Room in a model's waiting room for the prompts of a request. It is reserved before they are read, when
// their tokens are not known yet: each byte counts as one. Rejects (429) if there is no room; a request
// always gets it if no other one waits.
std::shared_ptr<const void> reserve(ServedModel& model, const Fields& body, const TextBounds& bounds);
// The model of a request, with that room. Rejects a model that does not generate text.
ChosenModel find_generating(const ServedModels& models, const Fields& body, const TextBounds& bounds);
// Throws Error for more new tokens than a request may have.
void check_new_tokens(const ChosenModel& chosen, const RequestSettings& requested, std::size_t prompts,
                      const TextBounds& bounds);
// Submits every prompt to the queue. If one of them is rejected, so are all. They are cancelled when the
// client disconnects.
void submit(const std::shared_ptr<TextReader>& answer, const ChosenModel& chosen,
            const RequestSettings& requested, std::vector<QueueRequest> prompts);

}  // namespace attend::serve
