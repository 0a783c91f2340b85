#include "serve/routes/text_requests.h"

#include "base/error.h"
#include "serve/http/server.h"

#include <algorithm>

namespace attend::serve {

namespace {

// Bytes of all texts, and token ids.
std::size_t count_tokens_at_most(const Json& given) {
  if (given.is_string()) return given.get_ref<const std::string&>().size();
  if (given.is_number()) return 1;
  std::size_t count = 0;
  if (given.is_structured())
    for (const Json& each : given) count += count_tokens_at_most(each);
  return count;
}

// The fields that hold several prompts.
std::size_t count_prompts(const Json& body) {
  for (const char* field : {"prompt", "q"})
    if (const auto found = body.find(field); found != body.end() && found->is_array() && !found->empty())
      return found->front().is_number() ? 1 : found->size();
  return 1;
}

}  // namespace

std::shared_ptr<const void> reserve(ServedModel& model, const Fields& body, const TextBounds& bounds) {
  return model.waiting_room().take({count_prompts(body.json()), count_tokens_at_most(body.json())},
                                   [&] {
                                     const QueueStatus now = model.queue()->status();
                                     return WaitingRoom::Amount{now.waiting, now.waiting_tokens};
                                   },
                                   {bounds.waiting, bounds.waiting_tokens});
}

Asked find_generating(const ServedModels& models, const Fields& body, const TextBounds& bounds) {
  Asked asked = models.find(body);
  if (asked.model.queue() == nullptr)
    fail("model: {} is a {}, which generates no text", asked.name, asked.model.model().architecture());
  asked.place = reserve(asked.model, body, bounds);
  return asked;
}

void check_new_tokens(const Asked& asked, const Wishes& wishes, std::size_t prompts,
                      const TextBounds& bounds) {
  const Json& settings = wishes.settings;
  const auto length = settings.contains("max_new_tokens") ? "max_new_tokens" : "max_length";
  if (!settings.contains(length)) return;  // the model's own limit counts
  const double each = settings.at(length).get<double>(),
               texts = std::max(
                   settings.value("num_beams", static_cast<double>(asked.model.own_settings().beams)),
                   settings.value("num_return_sequences", 1.0)),
               all = each * texts * static_cast<double>(prompts);
  if (all > static_cast<double>(bounds.new_tokens))
    fail(
        "max_tokens: expected at most {} new tokens, times texts or beams and prompts; found {:.0f} times "
        "{:.0f} times {}",
        bounds.new_tokens, each, texts, prompts);
}

void submit(const std::shared_ptr<TextReader>& answer, const Asked& asked, const Wishes& wishes,
            std::vector<QueueRequest> prompts) {
  GenerationQueue& queue = *asked.model.queue();
  std::vector<GenerationQueue::Ticket> tickets;
  const auto cancel = [&queue, held = asked.held](const std::vector<GenerationQueue::Ticket>& all) {
    for (const GenerationQueue::Ticket ticket : all) queue.cancel(ticket);
  };
  try {
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      QueueRequest& request = prompts[p];
      request.settings = wishes.settings.dump();
      request.seed = wishes.seed + p;
      request.adapter = asked.adapter;
      request.prefix = wishes.prefix;
      request.negative_prompt = wishes.negative_prompt;
      request.log_probabilities = wishes.log_probabilities || wishes.best_of > wishes.texts;
      request.likeliest = wishes.log_probabilities.value_or(0);
      request.shows_stop = false;
      if (wishes.stream) request.on_token = [answer, p](const QueueToken& token) { answer->take(p, token); };
      request.on_end = [answer, p, held = asked.held](const QueueResult& result) {
        held->figures().add(result);
        answer->end(p, result);
      };
      tickets.push_back(queue.submit(std::move(request)));
    }
  } catch (...) {
    cancel(tickets);
    throw;
  }
  answer->pipe()->on_gone([cancel, tickets] { cancel(tickets); });
}

}  // namespace attend::serve
