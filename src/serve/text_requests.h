// Requests for texts on their way to a model's queue.
#pragma once

#include "serve/pipe.h"
#include "serve/served_models.h"

namespace attend::serve {

// What is asked of one model at most.
struct TextBounds {
  std::size_t waiting = 256;                           // prompts that wait
  std::size_t waiting_tokens = std::size_t{1} << 20U;  // of these prompts
  std::int64_t new_tokens = 131072;  // of one request: times beams or texts, of all its prompts
};

// Brought by the queue's thread: the texts of one prompt or several, which become a reply.
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

// Room among those that wait for a model, for the prompts of a request. It is taken before they are read,
// when their tokens are not known yet: each byte counts as one. Refuses (429) if there is none; a request
// that would wait alone always gets it.
std::shared_ptr<const void> reserve(ServedModel& model, const Fields& body, const TextBounds& bounds);
// The model of a request, with that room. Refuses a model that generates no text.
Asked find_generating(const ServedModels& models, const Fields& body, const TextBounds& bounds);
// Error for more new tokens than a request may ask for.
void check_new_tokens(const Asked& asked, const Wishes& wishes, std::size_t prompts,
                      const TextBounds& bounds);
// Asks the queue for every prompt. If one of them is refused, so are all. A client that leaves ends them.
void submit(const std::shared_ptr<TextReader>& answer, const Asked& asked, const Wishes& wishes,
            std::vector<QueueRequest> prompts);

}  // namespace attend::serve
