// Continuous batching: submit requests at any time, from any thread. `attend serve` uses this class.
//
//   attend::GenerationQueue queue(model);
//   queue.submit({.prompt = "Once upon a time",
//                 .on_token = [](const attend::QueueToken& token) { send(token.more); },
//                 .on_end = [](const attend::QueueResult& result) { finish(result); }});
//
// Requests join and leave the batch between decoder steps and share one bounded KV cache (Yu et al. 2022,
// "Orca"; Kwon et al. 2023, arXiv:2309.06180). They start in order of arrival, and none starves. A request's
// result is, to the last bit, what it would be alone.
#pragma once

#include <attend/export.h>
#include <attend/queue_status.h>
#include <attend/tasks.h>

#include <exception>

namespace attend {
inline namespace v1 {

struct QueueOptions {
  // Max bytes of the KV cache; absent: half of the machine's memory.
  std::optional<std::int64_t> cache_bytes = {};
  // Max prompt tokens per step. A longer prompt is read in pieces between the steps of other requests, so it
  // does not stop them; the result is the same. 0: prompts are read whole.
  std::int64_t prompt_step_tokens = 512;
  // Max tokens of prompts that must be read whole (by an encoder, with guidance or virtual tokens) and are in
  // work at the same time; one such prompt always is.
  std::int64_t batch_tokens = 4096;
  // Max tokens of a prompt; 0: as many as the model reads.
  std::int64_t max_prompt_tokens = 0;
  // A request that waits longer than this for its first step ends as failed, with WaitedTooLong; 0: no limit.
  double max_queue_seconds = 0;
  std::string chat_template = {};  // as in ConversationOptions
};

// One new token of a request.
struct QueueToken {
  std::size_t text = 0;  // index among the request's texts
  TokenId id = 0;
  std::string more;  // the new text, in whole characters; often empty
  // Set if requested, as in GeneratedText.
  float log_probability = 0;
  std::vector<TokenScore> likeliest = {};
  // Conversations only: new text that belongs to the reasoning or to calls of tools, and not to `more`.
  std::string reasoning = {};
  std::vector<ToolCallPiece> calls = {};
};

struct QueueResult {
  using End = QueueEnd;
  End end = End::finished;
  // If finished: num_return_sequences texts, without the prompt, best first.
  std::vector<GeneratedText> texts;
  std::exception_ptr error;       // if failed
  std::size_t prompt_tokens = 0;  // tokens of the prompt
  QueueTimes times = {};
};

// Callbacks run on the queue's own thread: on_token for every token except in beam search, on_end exactly
// once for every request that submit() accepted. They may call submit() and cancel(), but must not wait for
// another request or destroy the queue. An exception from on_token ends its request as failed; one from
// on_end is logged as a warning. An error of one request (out of memory, for example) ends that request as
// failed, or all requests of that step; it never ends the process or the queue.
struct QueueRequest {
  std::string prompt = {};        // a decoder continues it, an encoder-decoder reads it
  std::vector<TokenId> ids = {};  // token ids instead of `prompt`
  // Instead of a prompt: a conversation with a decoder, which generates the next turn. The model's chat
  // template (or that of QueueOptions) formats the messages, and says which it accepts.
  std::vector<ChatMessage> messages = {};
  std::string chat_variables = "{}";  // other variables of the template, as in ConversationOptions
  // With "tools" among the variables: whether the model calls one. auto: it decides. required: at least one.
  // none: no tool is shown to it. Otherwise the name of the tool to call. The arguments of calls are held to
  // the tools' JSON schemas.
  std::string tool_choice = "auto";
  bool parallel_tool_calls = true;  // several calls in one answer
  Configure configure = {};         // changes the model's config (generation_config.h)
  // Languages of a multilingual model, as in TranslateOptions.
  std::string source_language = {}, target_language = {};
  // Encoder-decoders only: the start of the generated text, as in `attend generate --prefix`.
  std::string prefix = {};
  // Decoders only, with a guidance_scale: the negative prompt of classifier-free guidance.
  std::string negative_prompt = {};
  std::uint64_t seed = 0;                    // for sampling
  std::optional<std::int64_t> adapter = {};  // as in RunOptions
  bool log_probabilities = false;
  std::size_t likeliest = 0;  // with log_probabilities: how many of the likeliest tokens per position
  // true: the text includes the stop string that ended it, which may start in the prompt, as in transformers.
  // false (and always in conversations): the text ends before the stop string, and only new text is searched,
  // as in OpenAI's API.
  bool shows_stop = true;
  std::function<void(const QueueToken& token)> on_token = {};
  std::function<void(const QueueResult& result)> on_end = {};
};

// Runs requests to one model in a continuous batch, on a thread of its own.
class ATTEND_API GenerationQueue {
 public:
  using Ticket = std::uint64_t;

  // Throws Error for a model that generates no text.
  explicit GenerationQueue(const ModelPath& model, const QueueOptions& options = {});
  // Cancels all unfinished requests. From then on submit() throws an Error; only callbacks can still call it.
  ~GenerationQueue();
  GenerationQueue(const GenerationQueue&) = delete;
  GenerationQueue& operator=(const GenerationQueue&) = delete;

  // Thread-safe. Throws Error for an invalid config, and for a prompt that is empty, too long, or could
  // outgrow the cache.
  Ticket submit(QueueRequest request);
  // Why the model cannot take messages: it has no chat template, or an unsupported one. Empty if it can.
  const std::string& no_conversations() const;
  // Ends the request as cancelled before the next step. Does nothing if it has ended.
  void cancel(Ticket ticket);
  QueueStatus status() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v1
}  // namespace attend
