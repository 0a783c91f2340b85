// Continuous batching: requests join and leave between two decoder steps (Yu et al. 2022, "Orca":
// iteration-level scheduling) and share one bounded KV cache (Kwon et al. 2023, arXiv:2309.06180). The server
// uses this; generate() is a batch to which all requests come at once.
//
// Requests are served strictly in order of arrival: none joins before an earlier one, and when the cache is
// full, the newest running requests are preempted and restarted later. So the running requests are always the
// oldest ones, and the oldest is never preempted: in every step it gets a token or reads a piece of its
// prompt, in a cache that is large enough for it alone (submit checks that), and ends after max_new steps
// and those of its pieces. Then the next one is the oldest. A request therefore ends after at most as many
// steps as it and all requests before it may still take, so none starves.
//
// Prompts are read in pieces between the steps of others (Agrawal et al. 2023, arXiv:2308.16369: chunked
// prefills), if prompt_step_tokens says so, because a step with a long prompt makes all others wait. These
// prompts are read whole: with guidance, padding or virtual tokens; for an encoder; and for a contrastive
// search, which needs their hidden states.
//
// A restarted request generates the same tokens again, because all randomness follows from seeds and
// positions; on_token sees each token once. So a result is, to the last bit, that of generate() with the
// request alone, if a row of the model's scores does not depend on other rows (float32 on the CPU).
//
// All searches can take part. The bound of the cache does not cover a draft model's own cache, nor XLNet,
// Transformer-XL and XLM, which have no KV cache.
#pragma once

#include <attend/queue_status.h>

#include "generation/decoding/assistant.h"
#include "generation/decoding/guided_decoder.h"
#include "generation/search/search.h"
#include "models/checkpoint/pretrained_model.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stop_token>

namespace attend {

struct BatchOptions {
  CacheLimit cache = {};
  // Max tokens of the prompts that are read whole and in flight together, times the beams or texts of each.
  // A single prompt may have more.
  std::int64_t batch_tokens = 4096;
  AssistantOptions assistant = {};
  // Max tokens that a step reads of prompts in pieces; 0: prompts are read whole.
  std::int64_t prompt_step_tokens = 0;
  // Requests that wait longer than this for their first step fail with WaitedTooLong; 0: they wait.
  double max_queue_seconds = 0;
  static constexpr std::int64_t kMinPromptStepTokens = 2 * PagedCache::kPageRows;
};

struct BatchResult {
  using End = QueueEnd;
  End end = End::finished;
  std::vector<GeneratedSequence> texts = {};  // of a finished request: num_return_sequences of them, the best
                                              // first
  std::exception_ptr error = nullptr;         // of a failed request
  QueueTimes times = {};
};

struct BatchRequest {
  Prompt prompt;
  std::shared_ptr<const SearchSettings> settings;  // from ContinuousBatch::prepare
  std::size_t number = 0;                          // with the same seed, requests with the same number draw
                                                   // the same random numbers
  // Receives every token as it is chosen, except in a beam search. An exception ends this request as failed.
  std::function<void(std::size_t text, const ChosenToken& token)> on_token = {};
  // Called exactly once for a request that submit() accepted, in every case. An exception becomes a warning
  // in the log, because the request is over and others must not be affected.
  std::function<void(BatchResult result)> on_end = {};
};

class ContinuousBatch {
 public:
  using Ticket = std::uint64_t;

  // An Error unless the models generate text, and the assistant fits the model.
  explicit ContinuousBatch(const PretrainedModel& model, const BatchOptions& options = {});
  ~ContinuousBatch();  // calls close()

  // From any thread, also from callbacks.

  // Checked settings, for one request or many. `tokenizer`: of the generated texts, for stop_strings and
  // forms; it must outlive the batch. `rule` may be empty. An Error for an invalid config, or one that does
  // not fit this model.
  std::shared_ptr<const SearchSettings> prepare(
      const GenerationConfig& config, std::uint64_t seed = 0, const Tokenizer* tokenizer = nullptr,
      ScoreRule rule = {}, StopStrings::Scope stops = StopStrings::Scope::whole_text) const;
  // An Error for a prompt that is empty, too long or has tokens that the model does not have, for a request
  // that could outgrow the cache, and after close().
  Ticket submit(BatchRequest request);
  // Ends the request before the next step; does nothing if it is over.
  void cancel(Ticket ticket);
  QueueStatus status() const;

  // From one thread, which also runs all callbacks. An exception of one request, or of a step that all
  // running requests share (for example bad_alloc), ends these requests as failed; step() itself never
  // throws.

  // Admits requests, gives every running text its next token, and ends finished requests. False if no request
  // is left.
  bool step();
  // Steps until `stop` is requested; sleeps while there is nothing to do.
  void run(const std::stop_token& stop);
  // Ends all remaining requests as cancelled, and accepts no more, not even from their on_end.
  void close();

 private:
  struct Job;
  using Jobs = std::map<Ticket, std::unique_ptr<Job>>;  // in the order of arrival

  // The parts of a step.
  void take_changes();
  void expire();
  void admit();
  std::vector<Decoder::Feed> collect_feeds();  // for which there is room
  std::int64_t feed(Job& job, std::vector<Decoder::Feed>& feeds, std::int64_t& prompt_tokens) const;
  void pass(std::span<const Decoder::Feed> feeds);
  void retire();
  void report_ends();

  std::int64_t free_pages() const;
  std::vector<Job*> active() const;  // the running requests that have not failed
  void begin(std::span<Job* const> jobs);
  void begin(Job& job, Decoder::Sequence sequence);
  void preempt(Job& job);
  void cancel_now(Jobs::node_type entry);
  void give_back(Job& job);  // frees its pages

  std::string architecture_;
  std::function<void(std::optional<std::int64_t> number)> check_adapter_;  // PretrainedModel::with_adapter
  std::int64_t batch_tokens_, prompt_step_tokens_;
  double max_queue_seconds_;
  std::unique_ptr<GuidedDecoder> decoder_;
  std::unique_ptr<Assistant> assistant_;
  // Of what is read (null: images are) and what is written; one in a decoder.
  Embeddings source_{nullptr}, target_{nullptr};
  Jobs waiting_, running_;
  Jobs gone_;  // over, but their on_end has not been called

  mutable std::mutex mutex_;  // protects the following members
  std::condition_variable_any news_;
  Jobs submitted_;
  std::vector<Ticket> cancelled_;
  Ticket last_ticket_ = 0;
  QueueStatus status_;
  bool warned_ = false, closed_ = false;
};

}  // namespace attend
