#include "serve/models/text_figures.h"

#include <fmt/format.h>

namespace attend::serve {
namespace {

// vLLM's buckets (vllm/v1/metrics/loggers.py), in seconds and in tokens.
const std::vector<double> kFirstToken = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                                         1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
const std::vector<double> kPerToken = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                       0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
const std::vector<double> kRequest = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                      30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
const std::vector<double> kTokens = {1,   2,    5,    10,   20,    50,    100,   200,
                                     500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

std::string reason_of(const QueueResult& result) {
  if (result.end == QueueEnd::cancelled) return "abort";
  if (result.end == QueueEnd::failed) return "error";
  return !result.texts.empty() && result.texts.front().cut_off ? "length" : "stop";
}

}  // namespace

TextFigures::TextFigures()
    : first_token_(kFirstToken),
      per_token_(kPerToken),
      whole_(kRequest),
      waited_(kRequest),
      prompt_(kTokens),
      generated_(kTokens) {}

void TextFigures::add(const QueueResult& result) {
  const std::lock_guard lock(mutex_);
  ++ends_[reason_of(result)];
  if (result.end != QueueEnd::finished) return;
  std::size_t made = 0, longest = 0;
  for (const GeneratedText& text : result.texts) {
    made += text.ids.size();
    longest = std::max(longest, text.ids.size());
  }
  prompt_tokens_ += result.prompt_tokens;
  new_tokens_ += made;
  prompt_.add(static_cast<double>(result.prompt_tokens));
  generated_.add(static_cast<double>(made));
  const QueueTimes& times = result.times;
  waited_.add(times.begin);
  first_token_.add(times.first_token);
  whole_.add(times.end);
  if (longest > 1) per_token_.add((times.end - times.first_token) / static_cast<double>(longest - 1));
}

std::uint64_t TextFigures::new_tokens() const {
  const std::lock_guard lock(mutex_);
  return new_tokens_;
}

void TextFigures::write(const std::string& model, const QueueStatus& status, const Write& write) const {
  const Labels labels = {{"model_name", model}};
  const auto one = [&](const char* name, const char* kind, const char* help, auto value) {
    write(name, kind, help, fmt::format("{}{} {}\n", name, in_braces(labels), value));
  };
  one("vllm:num_requests_running", "gauge", "Requests whose texts grow now.", status.running);
  one("vllm:num_requests_waiting", "gauge", "Requests that wait.", status.waiting);
  one("vllm:kv_cache_usage_perc", "gauge", "The share of the cache's pages in use; 1 is all.",
      status.max_pages > 0 ? static_cast<double>(status.pages_in_use) / static_cast<double>(status.max_pages)
                           : 0.0);
  one("vllm:num_preemptions_total", "counter", "Requests that began again for want of memory.",
      status.preemptions);
  const std::lock_guard lock(mutex_);
  one("vllm:prompt_tokens_total", "counter", "Tokens of prompts.", prompt_tokens_);
  one("vllm:generation_tokens_total", "counter", "Tokens that were made.", new_tokens_);
  std::string ends;
  for (const char* reason : {"stop", "length", "abort", "error"}) {
    const auto found = ends_.find(reason);
    Labels with_reason = labels;
    with_reason.emplace_back("finished_reason", reason);
    ends += fmt::format("vllm:request_success_total{} {}\n", in_braces(with_reason),
                        found == ends_.end() ? 0 : found->second);
  }
  write("vllm:request_success_total", "counter", "Requests that have ended, by how.", ends);
  const auto histogram = [&](const char* name, const char* help, const Histogram& of) {
    write(name, "histogram", help, of.lines(name, labels));
  };
  histogram("vllm:time_to_first_token_seconds", "From a request to its first token.", first_token_);
  histogram("vllm:time_per_output_token_seconds", "From one token to the next, the mean of a request.",
            per_token_);
  histogram("vllm:e2e_request_latency_seconds", "From a request to its end.", whole_);
  histogram("vllm:request_queue_time_seconds", "How long a request waited.", waited_);
  histogram("vllm:request_prompt_tokens", "Tokens of a request's prompt.", prompt_);
  histogram("vllm:request_generation_tokens", "Tokens that a request made.", generated_);
}

}  // namespace attend::serve
