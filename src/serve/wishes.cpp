#include "serve/wishes.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

namespace attend::serve {
namespace {

// Whom it is for and what is to be remembered of it: nothing that a text depends on.
constexpr std::array kWithoutEffect = {"user",
                                       "metadata",
                                       "store",
                                       "service_tier",
                                       "safety_identifier",
                                       "prompt_cache_key",
                                       "parallel_tool_calls"};

// The only value that such a field may have here.
struct Fixed {
  const char* name;
  Json value;
  const char* advice;
};
const std::array<Fixed, 10>& fixed_fields() {
  static const std::array<Fixed, 10> all = {{
      {"echo", false, "the prompt is not sent back"},
      {"suffix", "", "a text has nothing behind it"},
      {"presence_penalty", 0, "see repetition_penalty"},
      {"frequency_penalty", 0, "see repetition_penalty"},
      {"top_logprobs", 0, "there are log-probabilities of the chosen tokens alone"},
      {"tools", Json::array(), "models call no tools here; see response_format"},
      {"functions", Json::array(), "models call no functions here; see response_format"},
      {"tool_choice", "none", "models call no tools here"},
      {"function_call", "none", "models call no functions here"},
      {"modalities", Json::array({"text"}), "there is text alone"},
  }};
  return all;
}

// {"50256": -100} as sequences of one token each.
Json sequence_bias(const Json& given) {
  if (!given.is_object()) fail("logit_bias: expected an object, found {}", shown(given));
  Json all = Json::array();
  for (const auto& [token, bias] : given.items()) {
    std::int64_t id = 0;
    const auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), id);
    if (error != std::errc() || rest != token.data() + token.size() || !bias.is_number())
      fail("logit_bias: expected numbers by the ids of tokens, found {}: {}", token, shown(bias));
    if (constexpr double kMax = 1e30; std::abs(bias.get<double>()) > kMax)
      fail("logit_bias: expected a number from {} to {}, found {}: {}", -kMax, kMax, token, shown(bias));
    all.push_back({Json::array({id}), bias.get<double>()});
  }
  return all;
}

// The field of generation_config.json that holds the whole text to a form; nothing: any text will do.
Json json_schema(const Json& given) {
  const Fields format(given, "response_format");
  const std::string type = format.text({"type"});
  if (type == "text") return {};
  if (type == "json_object") return {{"type", "object"}};
  if (type != "json_schema")
    fail("response_format.type: expected text, json_object or json_schema, found {}", type);
  const Fields named(format.json().value("json_schema", Json()), "response_format.json_schema");
  if (!named.has({"schema"})) fail("response_format.json_schema: expected the field schema");
  return named.json().at("schema");
}

class Reader {
 public:
  explicit Reader(const Fields& body) : body_(body) {}

  void read(const std::string& name, const Json& value) {
    Json& settings = wishes_.settings;
    if (name == "max_tokens" || name == "max_completion_tokens")
      settings["max_new_tokens"] = body_.integer({name}, {}, 1);
    else if (name == "n" || name == "num_return_sequences")
      settings["num_return_sequences"] = body_.integer({name}, {}, 1, 128);
    else if (name == "best_of")
      check_best_of();
    else if (name == "stop")
      read_stop();
    else if (name == "temperature" || name == "top_p")
      settings[name] = body_.number({name}, {}, 0);
    else if (name == "seed")
      read_seed();
    else if (name == "stream")
      wishes_.stream = body_.flag({"stream"});
    else if (name == "stream_options")
      wishes_.stream_usage = Fields(value, "stream_options").flag({"include_usage"}, false);
    else if (name == "logprobs")
      read_log_probabilities(value);
    else if (name == "logit_bias")
      read_bias(value);
    else if (name == "response_format")
      read_form(value);
    else
      settings[name] = value;
  }

  Wishes wishes() {
    Json& settings = wishes_.settings;
    // A temperature of 0 is the likeliest token each time; any other one, and top_p, are about drawing.
    if (const auto temperature = settings.find("temperature");
        temperature != settings.end() && temperature->get<double>() == 0) {
      settings.erase("temperature");
      settings.erase("top_p");
      settings["do_sample"] = false;
    } else if ((settings.contains("temperature") || settings.contains("top_p")) &&
               !settings.contains("do_sample")) {
      settings["do_sample"] = true;
    }
    if (wishes_.stream && wishes_.log_probabilities)
      fail("logprobs: expected stream false, for they come with the whole text");
    if (!seeded_) wishes_.seed = std::random_device()();
    return std::move(wishes_);
  }

 private:
  void check_best_of() const {
    if (body_.integer({"best_of"}) != body_.integer({"n"}, 1))
      fail("best_of: expected as many as n; see num_beams");
  }

  void read_seed() {
    using Limits = std::numeric_limits<std::int64_t>;
    wishes_.seed = static_cast<std::uint64_t>(body_.integer({"seed"}, {}, Limits::min(), Limits::max()));
    seeded_ = true;
  }

  void read_stop() {
    const std::vector<std::string> all = body_.texts({"stop"});
    if (!all.empty()) wishes_.settings["stop_strings"] = all;
  }

  // true or false of a chat, a number of likely tokens of a completion.
  void read_log_probabilities(const Json& value) {
    if (value.is_number_integer() && value.get<std::int64_t>() != 0 && value.get<std::int64_t>() != 1)
      fail("logprobs: expected 0 or 1, for there are those of the chosen tokens alone, found {}",
           shown(value));
    wishes_.log_probabilities =
        value.is_boolean() ? value.get<bool>() : body_.integer({"logprobs"}, {}, 0) >= 0;
  }

  void read_bias(const Json& value) {
    if (Json bias = sequence_bias(value); !bias.empty()) wishes_.settings["sequence_bias"] = std::move(bias);
  }

  void read_form(const Json& value) {
    if (Json schema = json_schema(value); !schema.is_null())
      wishes_.settings["json_schema"] = std::move(schema);
  }

  const Fields& body_;
  Wishes wishes_;
  bool seeded_ = false;
};

}  // namespace

Wishes read_wishes(const Fields& body, const std::set<std::string_view>& others) {
  Reader reader(body);
  for (const auto& [name, value] : body.json().items()) {
    if (value.is_null() || others.contains(name)) continue;
    if (std::ranges::find(kWithoutEffect, name) != kWithoutEffect.end()) continue;
    const auto fixed = std::ranges::find(fixed_fields(), name, &Fixed::name);
    if (fixed == fixed_fields().end())
      reader.read(name, value);
    else if (value != fixed->value)
      fail("{}: expected {}, found {}: {}", name, shown(fixed->value), shown(value), fixed->advice);
  }
  return reader.wishes();
}

}  // namespace attend::serve
