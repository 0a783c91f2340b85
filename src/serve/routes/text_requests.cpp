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

ChosenModel find_generating(const ServedModels& models, const Fields& body, const TextBounds& bounds) {
  ChosenModel chosen = models.find(body);
  if (chosen.model.queue() == nullptr)
    fail("model: {} is a {}, which generates no text", chosen.name, chosen.model.model().architecture());
  chosen.place = reserve(chosen.model, body, bounds);
  return chosen;
}

void check_new_tokens(const ChosenModel& chosen, const RequestSettings& requested, std::size_t prompts,
                      const TextBounds& bounds) {
  const Json& settings = requested.settings;
  const auto length = settings.contains("max_new_tokens") ? "max_new_tokens" : "max_length";
  if (!settings.contains(length)) return;  // the model's own limit counts
  const double each = settings.at(length).get<double>(),
               texts = std::max(
                   settings.value("num_beams", static_cast<double>(chosen.model.own_settings().beams)),
                   settings.value("num_return_sequences", 1.0)),
               all = each * texts * static_cast<double>(prompts);
  if (all > static_cast<double>(bounds.new_tokens))
    fail(
        "max_tokens: expected at most {} new tokens, times texts or beams and prompts; found {:.0f} times "
        "{:.0f} times {}",
        bounds.new_tokens, each, texts, prompts);
}

void submit(const std::shared_ptr<TextReader>& answer, const ChosenModel& chosen,
            const RequestSettings& requested, std::vector<QueueRequest> prompts) {
  GenerationQueue& queue = *chosen.model.queue();
  std::vector<GenerationQueue::Ticket> tickets;
  const auto cancel = [&queue, held = chosen.held](const std::vector<GenerationQueue::Ticket>& all) {
    for (const GenerationQueue::Ticket ticket : all) queue.cancel(ticket);
  };
  try {
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      QueueRequest& request = prompts[p];
      request.configure = with_fields(requested.settings.dump());
      request.seed = requested.seed + p;
      request.adapter = chosen.adapter;
      request.prefix = requested.prefix;
      request.negative_prompt = requested.negative_prompt;
      request.log_probabilities = requested.log_probabilities || requested.best_of > requested.texts;
      request.likeliest = requested.log_probabilities.value_or(0);
      request.shows_stop = false;
      if (requested.stream)
        request.on_token = [answer, p](const QueueToken& token) { answer->take(p, token); };
      request.on_end = [answer, p, held = chosen.held](const QueueResult& result) {
        held->figures().add(result);
        answer->end(p, result);
      };
      tickets.push_back(queue.submit(std::move(request)));
    }
  } catch (...) {
    cancel(tickets);
    throw;
  }
  answer->pipe()->on_disconnect([cancel, tickets] { cancel(tickets); });
}

}  // namespace attend::serve
