#include "tokenizers/state.h"

#include "base/error.h"

#include <algorithm>

namespace attend {

using namespace tokenizers;  // the parts of a tokenizer
namespace {

Truncation read_truncation(const Json& json, const std::string& source) {
  const Fields read(json, source);
  Truncation truncation;
  truncation.max_length = static_cast<std::size_t>(read.integer({"max_length"}, {}, 0));
  truncation.stride = static_cast<std::size_t>(read.integer({"stride"}, 0, 0));
  const std::string strategy = read.text({"strategy"}, "LongestFirst");
  if (strategy == "LongestFirst")
    truncation.strategy = Truncation::Strategy::longest_first;
  else if (strategy == "OnlyFirst")
    truncation.strategy = Truncation::Strategy::only_first;
  else if (strategy == "OnlySecond")
    truncation.strategy = Truncation::Strategy::only_second;
  else
    fail("{}: strategy is '{}', expected LongestFirst, OnlyFirst or OnlySecond", source, strategy);
  const std::string direction = read.text({"direction"}, "Right");
  if (direction != "Left" && direction != "Right")
    fail("{}: direction is '{}', expected Left or Right", source, direction);
  truncation.direction = direction == "Left" ? Truncation::Direction::left : Truncation::Direction::right;
  return truncation;
}

Json to_json(const Truncation& truncation) {
  static constexpr const char* strategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
  return {{"direction", truncation.direction == Truncation::Direction::left ? "Left" : "Right"},
          {"max_length", truncation.max_length},
          {"strategy", strategies[static_cast<int>(truncation.strategy)]},
          {"stride", truncation.stride}};
}

Padding read_padding(const Json& json, const std::string& source) {
  const Fields read(json, source);
  Padding padding;
  const Json strategy = json.value("strategy", Json("BatchLongest"));
  if (strategy.is_object())
    padding.length =
        static_cast<std::size_t>(Fields(strategy, source + ".strategy").integer({"Fixed"}, {}, 0));
  else if (strategy != "BatchLongest")
    fail(R"({}: strategy is {}, expected "BatchLongest" or {{"Fixed": length}})", source, strategy.dump());
  const std::string direction = read.text({"direction"}, "Right");
  if (direction != "Left" && direction != "Right")
    fail("{}: direction is '{}', expected Left or Right", source, direction);
  padding.left = direction == "Left";
  padding.multiple_of = static_cast<std::size_t>(read.integer({"pad_to_multiple_of"}, 0, 0));
  padding.id = static_cast<TokenId>(read.integer({"pad_id"}, 0, 0, INT32_MAX));
  padding.type_id = static_cast<std::int32_t>(read.integer({"pad_type_id"}, 0, 0, INT32_MAX));
  padding.token = read.text({"pad_token"}, "[PAD]");
  return padding;
}

Json to_json(const Padding& padding) {
  return {{"strategy", padding.length ? Json{{"Fixed", *padding.length}} : Json("BatchLongest")},
          {"direction", padding.left ? "Left" : "Right"},
          {"pad_to_multiple_of", padding.multiple_of > 0 ? Json(padding.multiple_of) : Json()},
          {"pad_id", padding.id},
          {"pad_type_id", padding.type_id},
          {"pad_token", padding.token}};
}

// Whether this normalizer, or a step of this sequence, lowercases all letters.
bool has_lowercase(const Json& normalizer) {
  if (!normalizer.is_object()) return false;
  const std::string type = normalizer.value("type", "");
  return type == "Lowercase" ||
         (type == "Sequence" &&
          std::ranges::any_of(normalizer.value("normalizers", Json::array()),
                              [](const Json& step) { return step.value("type", "") == "Lowercase"; }));
}

}  // namespace

Tokenizer::State::State(TokenizerJson json, const std::string& source) {
  const Json& fields = json.fields;
  const auto field = [&](const char* name) { return fields.contains(name) ? fields.at(name) : Json(); };
  if (const Json version = field("version"); !version.is_null() && version != "1.0")
    fail("{}: version is {}, expected \"1.0\"", source, version.dump());
  if (!json.model && (!fields.contains("model") || !fields.at("model").is_object()))
    fail("{}: the field model is missing", source);
  model = json.model ? std::move(json.model)
                     : make_model(fields.at("model"), std::move(json.tables), source + ": model");
  parts = Json::object();
  const auto make = [&](const char* name, auto& part, auto maker) {
    parts[name] = field(name);
    if (!parts[name].is_null()) part = maker(parts[name], source + ": " + name, 0);
  };
  if (json.normalizer) {
    parts["normalizer"] = field("normalizer");
    parts["pre_tokenizer"] = field("pre_tokenizer");
    normalizer = std::move(json.normalizer);
    pre_tokenizer = std::move(json.pre_tokenizer);
  } else {
    make("normalizer", normalizer, make_normalizer);
    make("pre_tokenizer", pre_tokenizer, make_pre_tokenizer);
  }
  make("post_processor", post_processor, make_post_processor);
  make("decoder", decoder, make_decoder);
  if (json.decoder) decoder = std::move(json.decoder);
  if (const Json value = field("truncation"); !value.is_null())
    truncation = read_truncation(value, source + ": truncation");
  if (const Json value = field("padding"); !value.is_null())
    padding = read_padding(value, source + ": padding");
  added.read(field("added_tokens"), *model, normalizer.get(), source, json.slow);
  added.take_lowercase(std::move(json.lowercase));
  slow = json.slow;
  apart = std::move(json.apart);
  between_parts = std::move(json.between_parts);
  closing = std::move(json.closing);
  marked = std::move(json.marked);
  closes_once = json.closes_once;
  if (json.unknown_language_code) added.take_language_codes(model->vocabulary(), *json.unknown_language_code);
  needs_alignment = pre_tokenizer && pre_tokenizer->needs_alignment();
}

void Tokenizer::State::lower_case() {
  if (slow) {
    added.take_lowercase(make_slow_lowercase(false));
    return;
  }
  Json& json = parts["normalizer"];
  if (has_lowercase(json)) return;
  Json steps = Json::array({{{"type", "Lowercase"}}});
  if (!json.is_null()) steps.push_back(json);
  json = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  normalizer = make_normalizer(json, "normalizer", 0);
}

std::string Tokenizer::State::to_json() const {
  std::string text = "{\n\"version\":\"1.0\"";
  const auto add = [&text](const char* name, const Json& value) {
    text += ",\n\"";
    text += name;
    text += "\":" + value.dump();
  };
  add("truncation", truncation ? attend::to_json(*truncation) : Json());
  add("padding", padding ? attend::to_json(*padding) : Json());
  add("added_tokens", added.to_json());
  for (const auto& [name, value] : parts.items()) add(name.c_str(), value);
  std::string fields = model->fields().dump();
  fields.pop_back();  // the closing brace
  text += ",\n\"model\":" + fields + (fields.size() > 1 ? "," : "") + model->tables() + "}\n}\n";
  return text;
}

}  // namespace attend
