#include "serve/models/request_settings.h"

#include "base/error.h"
#include "serve/models/generation_fields.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <random>

namespace attend::serve {
namespace {

constexpr std::int64_t kUsualLength = 256;

// {"50256": -100} as sequences of one token each.
Json sequence_bias(const Json& given) {
  Json all = Json::array();
  for (const auto& [token, bias] : given.items()) {
    std::int64_t id = 0;
    const auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), id);
    if (error != std::errc() || rest != token.data() + token.size() || id < 0)
      fail("logit_bias: expected numbers by the ids of tokens, found {}: {}", token, shown(bias));
    all.push_back({Json::array({id}), bias.get<double>()});
  }
  return all;
}

// The field of generation_config.json that constrains the whole text; null: no constraint.
Json json_schema(const Fields& format) {
  const std::string type = format.text({"type"});
  if (type == "text") return {};
  if (type == "json_object") return {{"type", "object"}};
  return format.json().at("json_schema").at("schema");
}

class Reader {
 public:
  Reader(const Fields& body, const OwnSettings& own) : body_(body), own_(own) {}

  RequestSettings requested() {
    for (const RequestField& field : config_fields())
      if (body_.has({field.name})) settings_[field.name] = body_.json().at(field.name);
    for (const char* without_effect : {"output_scores", "output_top_scores"}) settings_.erase(without_effect);
    read_length();
    read_forms();
    read_drawing();
    read_log_probabilities();
    read_texts();
    requested_.stream = body_.flag({"stream"}, false);
    if (body_.has({"stream_options"}))
      requested_.stream_usage =
          Fields(body_.json().at("stream_options"), "stream_options").flag({"include_usage"}, false);
    requested_.echo = body_.flag({"echo"}, false);
    requested_.prefix = body_.text({"prefix"}, "");
    requested_.negative_prompt = body_.text({"negative_prompt"}, "");
    if (requested_.stream && requested_.best_of > requested_.texts)
      fail("best_of: expected stream false, for which texts are the best is known at their end");
    return std::move(requested_);
  }

 private:
  void read_length() {
    const auto max = body_.maybe_integer({"max_completion_tokens", "max_tokens"}, 0);
    if (max) requested_.no_new_tokens = *max == 0;
    if (max && *max > 0) settings_["max_new_tokens"] = *max;
    if (!settings_.contains("max_new_tokens") && !settings_.contains("max_length") && !own_.limits_length)
      settings_["max_new_tokens"] = kUsualLength;
  }

  void read_forms() {
    if (const std::vector<std::string> stop = body_.texts({"stop"}); !stop.empty())
      settings_["stop_strings"] = stop;
    if (body_.has({"logit_bias"}))
      if (Json bias = sequence_bias(body_.json().at("logit_bias")); !bias.empty())
        settings_["sequence_bias"] = std::move(bias);
    if (body_.has({"response_format"}))
      if (Json schema = json_schema(Fields(body_.json().at("response_format"), "response_format"));
          !schema.is_null())
        settings_["json_schema"] = std::move(schema);
  }

  // Temperature 0 means the likeliest token each time; any other value, and top_p, mean sampling.
  void read_drawing() {
    if (const auto found = settings_.find("temperature"); found != settings_.end() && *found == 0) {
      settings_.erase("temperature");
      settings_.erase("top_p");
      settings_["do_sample"] = false;
    } else if ((settings_.contains("temperature") || settings_.contains("top_p")) &&
               !settings_.contains("do_sample")) {
      settings_["do_sample"] = true;
    }
    using Limits = std::numeric_limits<std::int64_t>;
    requested_.seed =
        body_.has({"seed"})
            ? static_cast<std::uint64_t>(body_.integer({"seed"}, {}, Limits::min(), Limits::max()))
            : std::random_device()();
  }

  // Completions: a number of likely tokens; chats: true or false, and top_logprobs.
  void read_log_probabilities() {
    const Json given = body_.json().value("logprobs", Json());
    if (given.is_number()) requested_.log_probabilities = body_.integer({"logprobs"}, {}, 0);
    if (given == true) requested_.log_probabilities = body_.integer({"top_logprobs"}, 0, 0);
    if (given != true && body_.integer({"top_logprobs"}, 0, 0) > 0)
      fail("top_logprobs: expected logprobs: true as well");
  }

  void read_texts() {
    const auto n = static_cast<std::size_t>(body_.integer({"n", "num_return_sequences"}, 1));
    requested_.texts = n;
    requested_.best_of = static_cast<std::size_t>(body_.integer({"best_of"}, static_cast<std::int64_t>(n)));
    if (requested_.best_of < n) fail("best_of: expected at least n ({}), found {}", n, requested_.best_of);
    if (body_.flag({"use_beam_search"}, false)) {
      if (!settings_.contains("num_beams")) settings_["num_beams"] = requested_.best_of;
      settings_["do_sample"] = false;
      settings_.erase("temperature");
      settings_.erase("top_p");
      requested_.best_of = n;
    }
    const bool samples = settings_.value("do_sample", own_.samples);
    const bool has_beams = settings_.value("num_beams", own_.beams) > 1;
    if (has_beams && requested_.best_of > n)
      fail("best_of: expected num_beams 1, because a beam search already finds the likeliest texts");
    // Greedy decoding makes one text, which is used for all.
    const bool all_alike = !samples && !has_beams && !settings_.value("return_alternatives", false);
    settings_["num_return_sequences"] = all_alike ? 1 : requested_.best_of;
    if (all_alike) requested_.best_of = n;
  }

  const Fields& body_;
  const OwnSettings& own_;
  RequestSettings requested_;
  Json& settings_ = requested_.settings;
};

}  // namespace

RequestSettings read_request_settings(const Fields& body, const OwnSettings& own) {
  return Reader(body, own).requested();
}

}  // namespace attend::serve
