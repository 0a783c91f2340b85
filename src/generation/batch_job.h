// One request of a continuous batch, from its submission to its end.
#pragma once

#include "generation/continuous_batch.h"

#include <chrono>

namespace attend {

struct ContinuousBatch::Job {
  BatchRequest request;
  Ticket ticket = 0;
  std::span<const std::int64_t> tokens, source, first;  // as in Request
  LengthLimits limits = {};
  std::vector<std::int64_t> negative = {};  // the prompt of its guide; empty: no guidance
  std::int64_t max_new = 0;
  std::int64_t texts = 1;  // that grow together
  std::int64_t rows = 1;   // of scores per step
  bool in_pieces = false;  // the prompt may take several steps
  std::chrono::steady_clock::time_point arrival = std::chrono::steady_clock::now();
  QueueTimes times = {};

  std::unique_ptr<Search> search = {};       // null: the request waits
  std::vector<std::size_t> made, sent = {};  // tokens by text: made by this search, and sent through on_token
  std::int64_t made_before = 0;              // steps of the search that was preempted
  // In the current step: the first row of its scores, if it has any, and the pages that the rest of its
  // prompt needs.
  std::int64_t first_row = 0;
  bool is_scored = false;
  std::int64_t pages_to_come = 0;
  BatchResult result = {};

  const GenerationConfig& config() const { return request.settings->config; }
  // Prompt tokens that are read at once, for each row.
  std::int64_t cost() const {
    return in_pieces ? 0 : static_cast<std::int64_t>(request.prompt.ids.size() + negative.size()) * rows;
  }
  std::int64_t pages(const Decoder& decoder, std::int64_t new_tokens) const {
    const auto after = [&](const Prompt& prompt, std::size_t length) {
      return decoder.max_pages_of(prompt, static_cast<std::int64_t>(length) + new_tokens, texts);
    };
    return after(request.prompt, first.size()) +
           (negative.empty() ? 0 : after({negative, {}, {}}, negative.size()));
  }
  bool has_beams() const { return config().num_beams > 1; }
  double age() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - arrival).count();
  }
  // A restarted request cannot time out before it has caught up.
  bool is_late(std::chrono::steady_clock::time_point now) const {
    const std::chrono::duration<double> elapsed = now - arrival;
    return config().max_time && elapsed.count() > *config().max_time && search->steps() >= made_before;
  }
  std::vector<GeneratedSequence> results() const {
    std::vector<GeneratedSequence> texts = search->results();
    const StopStrings& stops = request.settings->stop_strings;
    for (GeneratedSequence& text : texts) {
      if (stops.empty() || text.ids.empty()) continue;
      std::vector<std::int64_t> all(tokens.begin(), tokens.end());
      all.insert(all.end(), text.ids.begin(), text.ids.end());
      text.stopped = stops.completed_by(all, std::ssize(text.ids));
    }
    return texts;
  }
  void fail(std::exception_ptr error) { result = {BatchResult::End::failed, {}, std::move(error)}; }
  void fail_with_current_exception() { fail(std::current_exception()); }
};

}  // namespace attend
