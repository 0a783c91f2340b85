// Texts that are asked for at any time, from any thread, and made together: what a server stands on.
//
//   attend::GenerationQueue queue(model);
//   queue.submit({.prompt = "Once upon a time",
//                 .on_token = [](const attend::QueueToken& token) { send(token.more); },
//                 .on_end = [](const attend::QueueResult& result) { finish(result); }});
//
// Requests join and leave between two steps of the decoder and share one bounded cache (Yu et al. 2022,
// "Orca"; Kwon et al. 2023, arXiv:2309.06180), in the order of their arrival; nobody starves. A request's
// result is to the last bit what it would be alone.
#pragma once

#include <attend/queue_status.h>
#include <attend/tasks.h>

#include <exception>

namespace attend {

struct QueueOptions {
  // For keys and values at most; absent: half of the machine's memory.
  std::optional<std::int64_t> cache_bytes = {};
  std::int64_t batch_tokens = 4096;  // of prompts, how many are read in one step; one prompt always is
  std::string chat_template = {};    // as in ConversationOptions
};

struct QueueToken {
  std::size_t text = 0;  // which of the request's texts
  TokenId id = 0;
  std::string more;  // the whole characters that can be written by now, often none
  // If they are asked for, as in GeneratedText.
  float log_probability = 0;
  std::vector<TokenScore> likeliest = {};
};

struct QueueResult {
  using End = QueueEnd;
  End end = End::finished;
  // Finished: num_return_sequences of them, without the prompt, the best first.
  std::vector<GeneratedText> texts;
  std::exception_ptr error;       // failed
  std::size_t prompt_tokens = 0;  // that were read
  QueueTimes times = {};
};

// Callbacks come from the queue's own thread: on_token for every token except in a beam search, on_end
// exactly once for every request that submit() took. They may call submit() and cancel(), but must neither
// wait for another request nor destroy the queue. What on_token throws ends its request, as failed; what
// on_end throws is a warning in the log. An error of one request (no memory, for example) ends that request,
// as failed, or those that shared the step in which it came; it never ends the process or the queue.
struct QueueRequest {
  std::string prompt = {};        // that a decoder goes on with, or an encoder-decoder reads
  std::vector<TokenId> ids = {};  // in place of a prompt: its tokens, as the model reads them
  // In place of a prompt: a conversation with a decoder, of which the text is the next turn. The model's chat
  // template (or QueueOptions') writes them, and says which it takes.
  std::vector<ChatMessage> messages = {};
  std::string chat_variables = "{}";  // what else the template is told, as in ConversationOptions
  // A JSON object with fields as in generation_config.json, which win over the model's.
  std::string settings = "{}";
  // Of a prompt that a model of many languages translates, as in TranslateOptions.
  std::string source_language = {}, target_language = {};
  // Of an encoder-decoder: what the text begins with, as in `attend generate --prefix`.
  std::string prefix = {};
  // Of a decoder, with a guidance_scale: what the text is led away from.
  std::string negative_prompt = {};
  std::uint64_t seed = 0;                    // of sampling
  std::optional<std::int64_t> adapter = {};  // as in RunOptions
  bool log_probabilities = false;
  std::size_t likeliest = 0;  // with log_probabilities: how many of the likeliest tokens in each place
  // A text has the stop string that ended it, which may begin in the prompt, as in transformers. False, and
  // always in a conversation: it ends before the stop string, which is looked for in the new text alone, as
  // in OpenAI's API.
  bool shows_stop = true;
  std::function<void(const QueueToken& token)> on_token = {};
  std::function<void(const QueueResult& result)> on_end = {};
};

class GenerationQueue {
 public:
  using Ticket = std::uint64_t;

  // Error for a model that generates no text.
  explicit GenerationQueue(const ModelPath& model, const QueueOptions& options = {});
  // Requests that are not over end as cancelled. From then on submit() throws an Error; only callbacks can
  // still call it.
  ~GenerationQueue();
  GenerationQueue(const GenerationQueue&) = delete;
  GenerationQueue& operator=(const GenerationQueue&) = delete;

  // From any thread. Error for settings that make no sense, and a prompt that is empty, too long, or could
  // grow beyond the cache.
  Ticket submit(QueueRequest request);
  // Why messages cannot be given: the model has no chat template, or none that can be read. Empty: they can.
  const std::string& no_conversations() const;
  // The request ends as cancelled before the next step; nothing happens if it is over.
  void cancel(Ticket ticket);
  QueueStatus status() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend
