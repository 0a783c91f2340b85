#include "generation/config.h"

#include "base/error.h"
#include "base/log.h"
#include "models/model.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

constexpr std::int64_t kDefaultLength = 20;
constexpr std::int64_t kMost = std::int64_t{1} << 31;

// Fields that change the result and that we cannot honour, with the value at which they do nothing (null
// always does nothing). `sampling`: the field matters only when sampling.
struct Unsupported {
  const char* name;
  Json neutral;
  bool sampling = false;
};

const std::vector<Unsupported>& unsupported_fields() {
  static const std::vector<Unsupported> fields = {{"penalty_alpha", 0.0},
                                                  {"num_beam_groups", 1},
                                                  {"diversity_penalty", 0.0},
                                                  {"constraints", nullptr},
                                                  {"force_words_ids", nullptr},
                                                  {"encoder_repetition_penalty", 1.0},
                                                  {"suppress_tokens", nullptr},
                                                  {"begin_suppress_tokens", nullptr},
                                                  {"encoder_no_repeat_ngram_size", 0},
                                                  {"sequence_bias", nullptr},
                                                  {"exponential_decay_length_penalty", nullptr},
                                                  {"remove_invalid_values", false},
                                                  {"guidance_scale", 1.0},
                                                  {"watermarking_config", nullptr},
                                                  {"token_healing", false},
                                                  {"stop_strings", nullptr},
                                                  {"max_time", nullptr},
                                                  {"prompt_lookup_num_tokens", nullptr},
                                                  {"dola_layers", nullptr},
                                                  {"assistant_early_exit", nullptr},
                                                  {"min_p", nullptr, true},
                                                  {"typical_p", 1.0, true},
                                                  {"epsilon_cutoff", 0.0, true},
                                                  {"eta_cutoff", 0.0, true}};
  return fields;
}

// Fields that say nothing about which tokens come out.
constexpr std::string_view kWithoutEffect[] = {"transformers_version",
                                               "_from_model_config",
                                               "_commit_hash",
                                               "use_cache",
                                               "cache_implementation",
                                               "cache_config",
                                               "return_legacy_cache",
                                               "prefill_chunk_size",
                                               "output_attentions",
                                               "output_hidden_states",
                                               "output_scores",
                                               "output_logits",
                                               "return_dict_in_generate",
                                               "low_memory",
                                               "compile_config",
                                               "disable_compile",
                                               "is_assistant",
                                               "num_assistant_tokens",
                                               "num_assistant_tokens_schedule",
                                               "assistant_confidence_threshold",
                                               "max_matching_ngram_size",
                                               "assistant_lookbehind",
                                               "target_lookbehind"};

// The fields of GenerationConfig by name.
constexpr std::string_view kKnown[] = {"max_length",
                                       "max_new_tokens",
                                       "min_length",
                                       "min_new_tokens",
                                       "do_sample",
                                       "num_beams",
                                       "num_return_sequences",
                                       "temperature",
                                       "top_k",
                                       "top_p",
                                       "length_penalty",
                                       "early_stopping",
                                       "repetition_penalty",
                                       "no_repeat_ngram_size",
                                       "bad_words_ids",
                                       "renormalize_logits",
                                       "eos_token_id",
                                       "pad_token_id",
                                       "bos_token_id",
                                       "decoder_start_token_id",
                                       "forced_bos_token_id",
                                       "forced_eos_token_id"};

bool is_known(std::string_view name) {
  const auto in = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
  return in(kKnown) || in(kWithoutEffect) ||
         std::ranges::any_of(unsupported_fields(), [&](const Unsupported& u) { return u.name == name; });
}

EarlyStopping read_early_stopping(const Fields& fields) {
  const Json& value = fields.json().at("early_stopping");
  if (value.is_null()) return EarlyStopping::no;
  if (value.is_boolean()) return value.get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
  if (value == "never") return EarlyStopping::never;
  fail("{}: early_stopping: expected true, false or \"never\", found {}", fields.source(), shown(value));
}

std::vector<std::vector<std::int64_t>> read_bad_words(const Fields& fields) {
  const Json& value = fields.json().at("bad_words_ids");
  std::vector<std::vector<std::int64_t>> words;
  if (value.is_null()) return words;
  const auto wrong = [&] {
    fail("{}: bad_words_ids: expected a list of lists of token ids, found {}", fields.source(), shown(value));
  };
  if (!value.is_array()) wrong();
  for (const Json& word : value) {
    if (!word.is_array() || word.empty()) wrong();
    words.push_back(Fields(Json{{"bad_words_ids", word}}, fields.source()).integers({"bad_words_ids"}));
    if (std::ranges::min(words.back()) < 0) wrong();
  }
  return words;
}

// Those that matter only when sampling go into `sampling`.
void refuse_unsupported(const Fields& fields, std::set<std::string>& sampling) {
  for (const Unsupported& field : unsupported_fields()) {
    const auto found = fields.json().find(field.name);
    if (found == fields.json().end()) continue;
    const bool harmless = found->is_null() || *found == field.neutral;
    if (harmless)
      sampling.erase(field.name);
    else if (field.sampling)
      sampling.insert(field.name);
    else
      fail("{}: {}: {} is not supported yet", fields.source(), field.name, shown(*found));
  }
}

void check_ids(std::span<const std::int64_t> ids, std::int64_t vocabulary, const char* name) {
  for (const std::int64_t id : ids)
    if (id < 0 || id >= vocabulary)
      fail("{}: {} is outside the model's vocabulary of {} tokens", name, id, vocabulary);
}

void check_id(const std::optional<std::int64_t>& id, std::int64_t vocabulary, const char* name) {
  if (id) check_ids({&*id, 1}, vocabulary, name);
}

// `least` itself is not allowed.
void check_above(double value, double least, const char* name, const char* hint = "") {
  if (!(value > least) || !std::isfinite(value))
    fail("{}: expected a number above {}, found {}{}", name, least, value, hint);
}

}  // namespace

GenerationConfig GenerationConfig::of(const Model& model) {
  GenerationConfig config;
  if (!model.generation_config().empty()) {
    config.apply(Fields(model.generation_config(), "generation_config.json"), false);
  } else {  // config.json has other fields as well
    Json own = Json::object();
    for (const auto& [name, value] : model.config().json().items())
      if (is_known(name)) own[name] = value;
    config.apply(Fields(own, model.config().source()), false);
  }
  // In a model's files the default is no choice: the original then counts 20 new tokens.
  if (config.max_length == kDefaultLength) config.max_length.reset();
  return config;
}

void GenerationConfig::apply(const Fields& fields, bool strict) {
  const GenerationConfig defaults;
  const auto given = [&](std::string_view name) { return fields.json().contains(name); };
  const auto integer = [&](std::string_view name, std::int64_t& to, std::int64_t otherwise,
                           std::int64_t least) {
    if (given(name)) to = fields.integer({name}, otherwise, least, kMost);
  };
  const auto maybe_integer = [&](std::string_view name, std::optional<std::int64_t>& to, std::int64_t least) {
    if (given(name)) to = fields.maybe_integer({name}, least, kMost);
  };
  const auto number = [&](std::string_view name, double& to, double otherwise) {
    if (given(name)) to = fields.number({name}, otherwise);
  };
  maybe_integer("max_length", max_length, 1);
  maybe_integer("max_new_tokens", max_new_tokens, 1);
  integer("min_length", min_length, 0, 0);
  maybe_integer("min_new_tokens", min_new_tokens, 0);
  if (given("do_sample")) do_sample = fields.flag({"do_sample"}, defaults.do_sample);
  integer("num_beams", num_beams, defaults.num_beams, 1);
  if (num_beams > 4096) fail("{}: num_beams: expected at most 4096, found {}", fields.source(), num_beams);
  integer("num_return_sequences", num_return_sequences, defaults.num_return_sequences, 1);
  number("temperature", temperature, defaults.temperature);
  integer("top_k", top_k, 0, 0);  // null means all tokens, unlike no top_k at all
  number("top_p", top_p, defaults.top_p);
  number("length_penalty", length_penalty, defaults.length_penalty);
  if (given("early_stopping")) early_stopping = read_early_stopping(fields);
  number("repetition_penalty", repetition_penalty, defaults.repetition_penalty);
  integer("no_repeat_ngram_size", no_repeat_ngram_size, 0, 0);
  if (given("bad_words_ids")) bad_words_ids = read_bad_words(fields);
  if (given("renormalize_logits")) renormalize_logits = fields.flag({"renormalize_logits"}, false);
  if (given("eos_token_id")) eos_token_id = fields.integers({"eos_token_id"});
  maybe_integer("pad_token_id", pad_token_id, -1);
  maybe_integer("bos_token_id", bos_token_id, 0);
  maybe_integer("decoder_start_token_id", decoder_start_token_id, 0);
  maybe_integer("forced_bos_token_id", forced_bos_token_id, 0);
  if (given("forced_eos_token_id")) forced_eos_token_id = fields.integers({"forced_eos_token_id"});

  refuse_unsupported(fields, unsupported_for_sampling);
  for (const auto& [name, value] : fields.json().items()) {
    if (is_known(name)) continue;
    if (strict) fail("{}: {} is not a field of a generation config", fields.source(), shown(Json(name)));
    warn("{}: {} is not a field we know; it has no effect", fields.source(), shown(Json(name)));
  }
}

void GenerationConfig::check(std::int64_t vocabulary) const {
  if (num_beams > 1 && do_sample)
    fail("do_sample with num_beams {}: sampling with beams is not supported yet", num_beams);
  if (num_beams > 1 && num_return_sequences > num_beams)
    fail("num_return_sequences: expected at most num_beams ({}), found {}", num_beams, num_return_sequences);
  if (num_beams == 1 && !do_sample && num_return_sequences > 1)
    fail(
        "num_return_sequences: {} texts need sampling or a beam search; the likeliest next token gives only "
        "one",
        num_return_sequences);
  if (do_sample) {
    if (!unsupported_for_sampling.empty()) fail("{} is not supported yet", *unsupported_for_sampling.begin());
    check_above(temperature, 0, "temperature", "; for the likeliest token each time, do not sample");
    if (!(top_p >= 0 && top_p <= 1)) fail("top_p: expected a number from 0 to 1, found {}", top_p);
  }
  check_above(repetition_penalty, 0, "repetition_penalty");
  if (!std::isfinite(length_penalty)) fail("length_penalty: expected a number, found {}", length_penalty);
  for (const auto& word : bad_words_ids) check_ids(word, vocabulary, "bad_words_ids");
  check_id(decoder_start_token_id, vocabulary, "decoder_start_token_id");
  check_id(forced_bos_token_id, vocabulary, "forced_bos_token_id");
  check_ids(forced_eos_token_id, vocabulary, "forced_eos_token_id");
}

std::int64_t GenerationConfig::padding() const {
  // As the original has it: its beam search takes a pad of 0 for none, and without eos does not use it.
  if (num_beams > 1)
    return eos_token_id.empty() ? -1 : pad_token_id.value_or(0) != 0 ? *pad_token_id : eos_token_id[0];
  return pad_token_id ? *pad_token_id : eos_token_id.empty() ? 0 : eos_token_id[0];
}

LengthLimits GenerationConfig::lengths(std::int64_t prompt, std::int64_t max_positions) const {
  LengthLimits limits;
  limits.prompt = prompt;
  limits.most = max_new_tokens ? prompt + *max_new_tokens
                : max_length   ? *max_length
                               : std::min(prompt + kDefaultLength, max_positions);
  limits.least = min_new_tokens ? prompt + *min_new_tokens : min_length;
  if (prompt >= limits.most)
    fail("the prompt has {} tokens, but at most {} are allowed with what follows; {}", prompt, limits.most,
         max_length && !max_new_tokens ? "raise max_length or set max_new_tokens" : "shorten it");
  return limits;
}

bool GenerationConfig::is_eos(std::int64_t token) const {
  return std::ranges::find(eos_token_id, token) != eos_token_id.end();
}

}  // namespace attend
