// The contents of a request for texts, in OpenAI's terms and in those of generation_config.json.
#pragma once

#include "formats/json/json.h"

#include <cstdint>
#include <optional>
#include <string>

namespace attend::serve {

struct RequestSettings {
  Json settings = Json::object();  // of a QueueRequest
  std::uint64_t seed = 0;          // random if the request has none
  bool stream = false, stream_usage = false;
  std::size_t texts = 1;    // for each prompt
  std::size_t best_of = 1;  // generated for each; the likeliest are kept
  bool echo = false;        // the prompt comes first
  bool no_new_tokens = false;
  // The number of likeliest tokens that are reported for each token; absent: no log-probabilities.
  std::optional<std::size_t> log_probabilities = {};
  std::string prefix = {}, negative_prompt = {};  // as in QueueRequest
};

// A model's defaults for fields that a request leaves out.
struct OwnSettings {
  bool samples = false;
  std::int64_t beams = 1;
  bool limits_length = false;
};

// From a request that its endpoint has checked.
RequestSettings read_request_settings(const Fields& body, const OwnSettings& own);

}  // namespace attend::serve
