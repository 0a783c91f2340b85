#include "serve/routes/text_routes.h"

#include "base/error.h"
#include "serve/models/generation_fields.h"
#include "serve/models/prompts.h"
#include "serve/routes/answer.h"
#include "serve/routes/text_requests.h"

#include <algorithm>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

Json reply_schema(const char* object) {
  return {{"type", "object"},
          {"properties",
           {{"id", text()},
            {"object", one_of({object})},
            {"created", integer(0, std::numeric_limits<std::int64_t>::max())},
            {"model", text()},
            {"choices", list(any_object())},
            {"usage", any_object()}}},
          {"required", {"id", "object", "created", "model", "choices", "usage"}}};
}

Endpoint completions(const ServedModels& models) {
  const RequestFields own = {
      models.field(),
      prompt_field(),
      {"echo", flag(), "the prompt comes before the text; with logprobs also its tokens"},
      {"best_of", integer(1, 128), "how many texts to make; the n likeliest are returned"},
      {"logprobs", integer(0, 20),
       "return log-probabilities of the text's tokens, and of this many alternatives to each"},
      {"suffix", one_of({""}), "a text has nothing that follows it"},
      {"src_lang", text(), "of a model of many languages: that of the prompt, such as en or eng_Latn"},
      {"tgt_lang", text(), "that of the text"}};
  return {.path = "/v1/completions",
          .group = "texts",
          .summary = "Texts that go on with prompts, or that an encoder-decoder makes of them",
          .fields = own + request_fields() + config_fields(),
          .reply = reply_schema(kCompletion.object),
          .streams = true};
}

// A completion may be of the prompt alone; a chat has an answer.
RequestFields with_new_tokens(RequestFields fields) {
  for (RequestField& field : fields)
    if (field.name == "max_tokens" || field.name == "max_completion_tokens") field.schema = integer(1);
  return fields;
}

Endpoint chats(const ServedModels& models) {
  const RequestFields model = {models.field()};
  const RequestFields own = {
      {"logprobs", flag(), "log-probabilities of the text's tokens"},
      {"top_logprobs", integer(0, 20),
       "how many alternatives to each token are returned with their log-probabilities"},
      {"functions", list(anything(), 0, 0), "an old form of tools"},
      {"function_call", one_of({"none"}), "an old form of tool_choice"},
      {"modalities", list(one_of({"text"})), "there is text alone"}};
  return {.path = "/v1/chat/completions",
          .group = "texts",
          .summary = "The next turn of a conversation",
          .fields = model + chat_fields() + own + with_new_tokens(request_fields()) + config_fields(),
          .reply = reply_schema(kChat.object),
          .streams = true};
}

// Fills in the prompts' tokens, if they must be known before the queue reads them.
std::vector<Echo> read_echoes(const ChosenModel& chosen, const RequestSettings& requested,
                              std::vector<QueueRequest>& prompts) {
  if (!requested.echo && !requested.no_new_tokens) return {};
  if (chosen.model.is_encoder_decoder())
    fail("{}: an encoder-decoder's text has no prompt before it: expected neither echo nor max_tokens 0",
         chosen.name);
  const std::size_t vocabulary = chosen.model.model().tokenizers().source->vocabulary_size();
  std::vector<Echo> echoes;
  for (QueueRequest& request : prompts) {
    for (const TokenId id : request.ids)
      if (static_cast<std::size_t>(id) >= vocabulary) fail("prompt: the model has no token {}", id);
    Echo& echo = echoes.emplace_back();
    echo.text = request.ids.empty() ? request.prompt
                                    : chosen.model.model().tokenizers().target->decode(request.ids, false);
    if (request.ids.empty()) request.ids = chosen.model.prompt_ids(request.prompt);
    request.prompt.clear();
    if (requested.echo && requested.log_probabilities)
      echo.tokens = chosen.model.report(request.ids, chosen.adapter, *requested.log_probabilities);
  }
  return requested.echo ? echoes : std::vector<Echo>();
}

// The queue has no work for this request.
void end_at_once(Answer& answer, const std::vector<QueueRequest>& prompts, std::size_t texts) {
  QueueResult result;
  GeneratedText nothing;
  nothing.cut_off = true;
  result.texts.assign(texts, nothing);
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    result.prompt_tokens = prompts[p].ids.size();
    answer.end(p, result);
  }
}

// Submits every prompt to the queue. If one of them is rejected, so are all.
Reply ask(const AnswerForm& form, const ChosenModel& chosen, const RequestSettings& requested,
          std::vector<QueueRequest> prompts, const TextBounds& bounds) {
  check_new_tokens(chosen, requested, prompts.size(), bounds);
  std::vector<Echo> echoes = read_echoes(chosen, requested, prompts);
  const auto answer = std::make_shared<Answer>(form, chosen, requested, prompts.size(), std::move(echoes));
  if (requested.no_new_tokens)
    end_at_once(*answer, prompts, requested.texts);
  else
    submit(answer, chosen, requested, std::move(prompts));
  return {{}, requested.stream ? "text/event-stream" : "application/json", answer->pipe()};
}

}  // namespace

void add_text_routes(Server& server, const ServedModels& models, const TextBounds& bounds) {
  server.add(completions(models), [&models, bounds](const Fields& body) {
    const ChosenModel chosen = find_generating(models, body, bounds);
    const RequestSettings requested = read_request_settings(body, chosen.model.own_settings());
    return ask(kCompletion, chosen, requested, read_prompts(body, bounds.waiting), bounds);
  });
  server.add(chats(models), [&models, bounds](const Fields& body) {
    const ChosenModel chosen = find_generating(models, body, bounds);
    const RequestSettings requested = read_request_settings(body, chosen.model.own_settings());
    std::vector<QueueRequest> request;
    request.push_back(read_chat(body));
    return ask(kChat, chosen, requested, std::move(request), bounds);
  });
}

}  // namespace attend::serve
