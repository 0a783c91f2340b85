// Reads a GenerationConfig from the fields of a generation_config.json.
#include "base/error.h"
#include "base/log.h"
#include "generation/config/config.h"
#include "models/checkpoint/pretrained_model.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace attend {
namespace {

constexpr std::int64_t kMax = std::int64_t{1} << 31;

// Unsupported fields that change the result, with the value at which they have no effect (null never has an
// effect).
struct Unsupported {
  const char* name;
  Json neutral;
};

const std::vector<Unsupported>& unsupported_fields() {
  static const std::vector<Unsupported> fields = {{"constraints", nullptr},
                                                  {"token_healing", false},
                                                  {"dola_layers", nullptr},
                                                  {"assistant_early_exit", nullptr}};
  return fields;
}

// Fields that do not affect the tokens.
constexpr std::string_view kWithoutEffect[] = {"transformers_version",
                                               "_from_model_config",
                                               "_commit_hash",
                                               "use_cache",
                                               "cache_implementation",
                                               "cache_config",
                                               "return_legacy_cache",
                                               "prefill_chunk_size",
                                               "output_logits",
                                               "return_dict_in_generate",
                                               "low_memory",
                                               "compile_config",
                                               "disable_compile",
                                               "is_assistant",
                                               "num_assistant_tokens_schedule",
                                               "assistant_confidence_threshold",
                                               "assistant_lookbehind",
                                               "target_lookbehind"};

// Reads given fields into members, and remembers the names of all known fields.
class Reader {
 public:
  explicit Reader(const Fields& fields) : fields_(fields) {}

  bool given(std::string_view name) {
    known_.insert(name);
    return fields_.json().contains(name);
  }
  bool knows(std::string_view name) const { return known_.contains(name); }
  const std::set<std::string_view>& known() const { return known_; }

  void integer(std::string_view name, std::int64_t& to, std::int64_t otherwise, std::int64_t least) {
    if (given(name)) to = fields_.integer({name}, otherwise, least, kMax);
  }
  void integer(std::string_view name, std::optional<std::int64_t>& to, std::int64_t least) {
    if (given(name)) to = fields_.maybe_integer({name}, least, kMax);
  }
  void integers(std::string_view name, std::vector<std::int64_t>& to) {
    if (given(name)) to = fields_.integers({name});
  }
  void texts(std::string_view name, std::vector<std::string>& to) {
    if (given(name)) to = fields_.texts({name});
  }
  void number(std::string_view name, double& to, double otherwise) {
    if (given(name)) to = fields_.number({name}, otherwise);
  }
  void number(std::string_view name, std::optional<double>& to) {
    if (given(name)) to = fields_.maybe_number({name});
  }
  void flag(std::string_view name, bool& to, bool otherwise) {
    if (given(name)) to = fields_.flag({name}, otherwise);
  }
  // For other types: `make` returns the value, or none if it is invalid.
  template <class To, class Make>
  void other(std::string_view name, To& to, const To& otherwise, std::string_view expected, Make make) {
    if (!given(name)) return;
    const Json& value = fields_.json().at(name);
    std::optional<To> made;
    if (value.is_null())
      made.emplace(otherwise);
    else
      made = make(value);
    if (!made) fail("{}: {}: expected {}, found {}", fields_.source(), name, expected, shown(value));
    to = *made;
  }

 private:
  const Fields& fields_;
  std::set<std::string_view> known_;
};

using Ids = std::vector<std::int64_t>;

std::optional<EarlyStopping> make_early_stopping(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
  if (value == "never") return EarlyStopping::never;
  return {};
}

// A list of token ids that is not empty.
std::optional<Ids> make_ids(const Json& value) {
  if (!value.is_array() || value.empty()) return {};
  Ids ids;
  for (const Json& id : value) {
    if (!id.is_number_integer()) return {};
    ids.push_back(id.get<std::int64_t>());
    if (ids.back() < 0) return {};
  }
  return ids;
}

std::optional<std::vector<Ids>> make_lists_of_ids(const Json& value) {
  if (!value.is_array()) return {};
  std::vector<Ids> lists;
  for (const Json& list : value) {
    const std::optional<Ids> ids = make_ids(list);
    if (!ids) return {};
    lists.push_back(*ids);
  }
  return lists;
}

// Each word is a list of ids or, if it has several phrases, a list of such lists.
std::optional<std::vector<ForcedWord>> make_forced_words(const Json& value) {
  if (!value.is_array() || value.empty()) return {};
  std::vector<ForcedWord> words;
  for (const Json& word : value) {
    if (const std::optional<Ids> phrase = make_ids(word)) {
      words.push_back({*phrase});
      continue;
    }
    const std::optional<std::vector<Ids>> phrases = make_lists_of_ids(word);
    if (!phrases || phrases->empty()) return {};
    words.push_back(*phrases);
  }
  return words;
}

std::optional<std::vector<SequenceBias>> make_biases(const Json& value) {
  if (!value.is_array()) return {};
  std::vector<SequenceBias> biases;
  for (const Json& pair : value) {
    if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number()) return {};
    const std::optional<Ids> ids = make_ids(pair[0]);
    if (!ids) return {};
    biases.push_back({*ids, pair[1].get<double>()});
  }
  return biases;
}

std::optional<std::optional<ExponentialDecay>> make_decay(const Json& value) {
  const bool valid =
      value.is_array() && value.size() == 2 && value[0].is_number_integer() && value[1].is_number();
  if (!valid) return {};
  const ExponentialDecay decay{value[0].get<std::int64_t>(), value[1].get<double>()};
  if (!(decay.factor > 0) || std::abs(decay.start) > kMax) return {};
  return decay;
}

// json_schema, regex, grammar and structural_tag are one member: of these, one may be given, and null takes
// it back.
void read_form(Reader& reader, const Fields& fields, std::optional<TextForm>& form) {
  const auto read = [&](std::string_view name, TextForm::Kind kind, std::string_view expected, auto text_of) {
    if (!reader.given(name)) return;
    const Json& value = fields.json().at(name);
    if (value.is_null()) {
      if (form && form->kind == kind) form.reset();
      return;
    }
    const std::optional<std::string> text = text_of(value);
    if (!text) fail("{}: {}: expected {}, found {}", fields.source(), name, expected, shown(value));
    if (form && form->kind != kind)
      fail(
          "{}: {}: a text has one form; leave out all but one of json_schema, regex, grammar and "
          "structural_tag",
          fields.source(), name);
    form = TextForm{kind, *text};
  };
  const auto written = [](const Json& value) -> std::optional<std::string> {
    if (!value.is_string()) return {};
    return value.get<std::string>();
  };
  read("json_schema", TextForm::Kind::json_schema, "a schema: an object, or true for any JSON",
       [](const Json& value) -> std::optional<std::string> {
         if (!value.is_object() && !value.is_boolean()) return {};
         return value.dump();
       });
  read("structural_tag", TextForm::Kind::structural_tag, "an object",
       [](const Json& value) -> std::optional<std::string> {
         if (!value.is_object()) return {};
         return value.dump();
       });
  read("regex", TextForm::Kind::regex, "a regular expression", written);
  read("grammar", TextForm::Kind::grammar, "rules in EBNF, of which \"root\" is the text", written);
}

void refuse_unsupported(const Fields& fields) {
  for (const Unsupported& field : unsupported_fields()) {
    const auto found = fields.json().find(field.name);
    if (found != fields.json().end() && !found->is_null() && *found != field.neutral)
      fail("{}: {}: {} is not supported yet", fields.source(), field.name, shown(*found));
  }
}

bool is_neutral_or_without_effect(std::string_view name) {
  return std::ranges::find(kWithoutEffect, name) != std::end(kWithoutEffect) ||
         std::ranges::any_of(unsupported_fields(), [&](const Unsupported& u) { return u.name == name; });
}

// Lengths and how many texts.
void read_lengths(Reader& reader, const Fields& fields, GenerationConfig& to) {
  const GenerationConfig defaults;
  reader.integer("max_length", to.max_length, 1);
  reader.integer("max_new_tokens", to.max_new_tokens, 1);
  reader.integer("min_length", to.min_length, 0, 0);
  reader.integer("min_new_tokens", to.min_new_tokens, 0);
  reader.texts("stop_strings", to.stop_strings);
  reader.number("max_time", to.max_time);
  reader.flag("do_sample", to.do_sample, defaults.do_sample);
  reader.integer("num_beams", to.num_beams, defaults.num_beams, 1);
  if (to.num_beams > 4096)
    fail("{}: num_beams: expected at most 4096, found {}", fields.source(), to.num_beams);
  reader.integer("num_return_sequences", to.num_return_sequences, defaults.num_return_sequences, 1);
}

// How tokens are drawn.
void read_sampling(Reader& reader, const Fields& fields, GenerationConfig& to) {
  const GenerationConfig defaults;
  reader.number("temperature", to.temperature, defaults.temperature);
  reader.integer("top_k", to.top_k, 0, 0);  // null means all tokens, unlike no top_k at all
  reader.number("top_p", to.top_p, defaults.top_p);
  reader.number("min_p", to.min_p);
  reader.number("typical_p", to.typical_p, defaults.typical_p);
  reader.number("epsilon_cutoff", to.epsilon_cutoff, defaults.epsilon_cutoff);
  reader.number("eta_cutoff", to.eta_cutoff, defaults.eta_cutoff);
  reader.number("dynatemp_range", to.dynatemp_range, defaults.dynatemp_range);
  reader.number("dynatemp_exponent", to.dynatemp_exponent, defaults.dynatemp_exponent);
  reader.number("xtc_probability", to.xtc_probability, defaults.xtc_probability);
  reader.number("xtc_threshold", to.xtc_threshold, defaults.xtc_threshold);
  if (reader.given("mirostat")) to.mirostat.version = fields.integer({"mirostat"}, 0, 0, 2);
  reader.number("mirostat_tau", to.mirostat.surprise, defaults.mirostat.surprise);
  reader.number("mirostat_eta", to.mirostat.rate, defaults.mirostat.rate);
}

// Contrastive search, draft tokens, beams.
void read_search(Reader& reader, GenerationConfig& to) {
  const GenerationConfig defaults;
  reader.number("penalty_alpha", to.penalty_alpha, defaults.penalty_alpha);
  reader.integer("prompt_lookup_num_tokens", to.prompt_lookup_num_tokens, 1);
  reader.integer("max_matching_ngram_size", to.max_matching_ngram_size, defaults.max_matching_ngram_size, 1);
  reader.integer("num_assistant_tokens", to.num_assistant_tokens, defaults.num_assistant_tokens, 1);
  reader.integer("num_beam_groups", to.num_beam_groups, defaults.num_beam_groups, 1);
  reader.number("diversity_penalty", to.diversity_penalty, defaults.diversity_penalty);
  reader.other("force_words_ids", to.force_words_ids, {},
               "a list of words, each a list of token ids, or a list of such lists of which one must come",
               make_forced_words);
  reader.number("length_penalty", to.length_penalty, defaults.length_penalty);
  reader.other("early_stopping", to.early_stopping, defaults.early_stopping, "true, false or \"never\"",
               make_early_stopping);
}

// What changes the scores of tokens.
void read_penalties(Reader& reader, GenerationConfig& to) {
  const GenerationConfig defaults;
  reader.number("repetition_penalty", to.repetition_penalty, defaults.repetition_penalty);
  reader.number("presence_penalty", to.presence_penalty, defaults.presence_penalty);
  reader.number("frequency_penalty", to.frequency_penalty, defaults.frequency_penalty);
  reader.number("encoder_repetition_penalty", to.encoder_repetition_penalty,
                defaults.encoder_repetition_penalty);
  reader.number("dry_multiplier", to.dry.multiplier, defaults.dry.multiplier);
  reader.number("dry_base", to.dry.base, defaults.dry.base);
  reader.integer("dry_allowed_length", to.dry.allowed_length, defaults.dry.allowed_length, 0);
  reader.integer("dry_range", to.dry.range, defaults.dry.range, -1);
  reader.integers("dry_sequence_breaker_ids", to.dry.sequence_breaker_ids);
  reader.integer("no_repeat_ngram_size", to.no_repeat_ngram_size, 0, 0);
  reader.integer("encoder_no_repeat_ngram_size", to.encoder_no_repeat_ngram_size, 0, 0);
  reader.other("bad_words_ids", to.bad_words_ids, {}, "a list of lists of token ids", make_lists_of_ids);
  reader.other("sequence_bias", to.sequence_bias, {},
               "a list of pairs, each a list of token ids and a number ([[[10, 45], -2.0], [[64], 7.5]])",
               make_biases);
  reader.integers("suppress_tokens", to.suppress_tokens);
  reader.integers("begin_suppress_tokens", to.begin_suppress_tokens);
  reader.other("exponential_decay_length_penalty", to.exponential_decay_length_penalty, {},
               "a number of tokens and a factor above 0 ([10, 1.05])", make_decay);
}

// Forms of the text, what is returned, special tokens.
void read_outputs(Reader& reader, const Fields& fields, GenerationConfig& to) {
  const GenerationConfig defaults;
  read_form(reader, fields, to.form);
  reader.number("guidance_scale", to.guidance_scale, defaults.guidance_scale);
  if (reader.given("watermarking_config"))
    to.watermark =
        make_watermark(fields.json().at("watermarking_config"), fields.source() + ": watermarking_config");
  reader.flag("remove_invalid_values", to.remove_invalid_values, false);
  reader.flag("renormalize_logits", to.renormalize_logits, false);
  reader.flag("return_alternatives", to.return_alternatives, false);
  reader.flag("output_scores", to.output_scores, false);
  reader.integer("output_top_scores", to.output_top_scores, 0, 0);
  reader.flag("output_attentions", to.output_attentions, false);
  reader.flag("output_hidden_states", to.output_hidden_states, false);
  reader.integers("eos_token_id", to.eos_token_id);
  reader.integer("pad_token_id", to.pad_token_id, -1);
  reader.integer("bos_token_id", to.bos_token_id, 0);
  reader.integer("decoder_start_token_id", to.decoder_start_token_id, 0);
  reader.integer("forced_bos_token_id", to.forced_bos_token_id, 0);
  reader.integers("forced_eos_token_id", to.forced_eos_token_id);
}

}  // namespace

GenerationConfig GenerationConfig::of(const PretrainedModel& model) {
  GenerationConfig config;
  if (!model.generation_config().empty())
    config.apply(Fields(model.generation_config(), "generation_config.json"), false);
  else
    config.read(model.config());  // it has other fields as well
  // In a model's files the default does not count as a setting: the original then generates 20 new tokens.
  if (config.max_length == default_max_length) config.max_length.reset();
  return config;
}

void GenerationConfig::apply(const Fields& fields, bool strict) {
  const ErrorScope scope(strict ? ErrorKind::call : ErrorKind::model);  // the caller's fields, or a file's
  for (const std::string& name : read(fields)) {
    if (strict) fail("{}: {} is not a field of a generation config", fields.source(), shown(Json(name)));
    warn("{}: {} is not a field we know; it has no effect", fields.source(), shown(Json(name)));
  }
}

void GenerationConfig::apply(const std::string& settings) {
  apply(Fields(parse_json(settings, "the settings"), "the settings"), true);
}

std::vector<std::string> GenerationConfig::field_names() {
  std::vector<std::string> names;
  GenerationConfig().read(Fields(Json::object(), "the fields"), &names);
  return names;
}

std::vector<std::string> GenerationConfig::read(const Fields& fields, std::vector<std::string>* known) {
  Reader reader(fields);
  read_lengths(reader, fields, *this);
  read_sampling(reader, fields, *this);
  read_search(reader, *this);
  read_penalties(reader, *this);
  read_outputs(reader, fields, *this);
  refuse_unsupported(fields);
  if (known) known->assign(reader.known().begin(), reader.known().end());
  std::vector<std::string> unknown;
  for (const auto& [name, value] : fields.json().items())
    if (!reader.knows(name) && !is_neutral_or_without_effect(name)) unknown.push_back(name);
  return unknown;
}

}  // namespace attend
