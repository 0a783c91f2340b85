// Metrics of the texts that one model generated, with vLLM's names and buckets, so that its dashboards and
// scaling rules work.
#pragma once

#include <attend/generation_queue.h>

#include "serve/http/metrics.h"

namespace attend::serve {

class TextFigures {
 public:
  TextFigures();

  // A request that has ended.
  void add(const QueueResult& result);
  std::uint64_t new_tokens() const;  // so far, of ended requests
  // Prometheus's lines are grouped by metric and then by model; `write` is called for each metric of this
  // model.
  using Write =
      std::function<void(const char* name, const char* kind, const char* help, const std::string& lines)>;
  void write(const std::string& model, const QueueStatus& status, const Write& write) const;

 private:
  mutable std::mutex mutex_;
  Histogram first_token_, per_token_, whole_, waited_, prompt_, generated_;
  std::uint64_t prompt_tokens_ = 0, new_tokens_ = 0;
  std::map<std::string, std::uint64_t> ends_;
};

}  // namespace attend::serve
