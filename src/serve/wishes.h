// What a request for texts asks for, in the words of OpenAI's API and in those of generation_config.json.
#pragma once

#include "formats/json.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace attend::serve {

struct Wishes {
  Json settings = Json::object();  // of a QueueRequest
  std::uint64_t seed = 0;          // drawn if the request has none
  bool stream = false, stream_usage = false;
  bool log_probabilities = false;
};

// Of all fields but `others`. Fields of OpenAI's API that ask for nothing are passed over, those that ask for
// what cannot be done are refused, and what is none of its fields is one of generation_config.json.
Wishes read_wishes(const Fields& body, const std::set<std::string_view>& others);

}  // namespace attend::serve
