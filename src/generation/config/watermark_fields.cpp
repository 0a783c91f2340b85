// Reads a watermarking_config.
#include "base/error.h"
#include "formats/json/json.h"
#include "generation/config/watermark.h"

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

namespace attend {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

Watermark make_green_list(const Fields& fields) {
  GreenListWatermark watermark;
  watermark.ratio = fields.number({"greenlist_ratio"}, watermark.ratio);
  watermark.bias = fields.number({"bias"}, watermark.bias);
  watermark.key = fields.integer({"hashing_key"}, watermark.key, -kAny, kAny);
  const std::string scheme = fields.text({"seeding_scheme"}, "lefthash");
  if (scheme != "lefthash" && scheme != "selfhash")
    fail("{}: seeding_scheme: expected \"lefthash\" or \"selfhash\", found \"{}\"", fields.source(), scheme);
  watermark.by_candidate = scheme == "selfhash";
  watermark.context_width = fields.integer({"context_width"}, watermark.context_width);
  return watermark;
}

Watermark make_synth_id(const Fields& fields) {
  constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 24;
  SynthIdWatermark watermark;
  watermark.ngram_length = fields.integer({"ngram_len"}, {}, 1, 1024);
  watermark.keys = fields.integers({"keys"});
  if (watermark.keys.empty() || watermark.keys.size() > 1024)
    fail("{}: keys: expected 1 to 1024 of them, found {}", fields.source(), watermark.keys.size());
  watermark.context_history =
      fields.integer({"context_history_size"}, watermark.context_history, 1, kMaxNumbers);
  watermark.table_seed = fields.integer({"sampling_table_seed"}, watermark.table_seed, -kAny, kAny);
  watermark.table_size = fields.integer({"sampling_table_size"}, watermark.table_size, 1, kMaxNumbers);
  watermark.skip_first_ngrams = fields.flag({"skip_first_ngram_calls"}, false);
  watermark.uniform = fields.flag({"debug_mode"}, false);
  return watermark;
}

// An Error for a field that the original would reject.
void check_names(const Fields& fields, std::span<const std::string_view> names) {
  for (const auto& [name, value] : fields.json().items())
    if (std::ranges::find(names, name) == names.end())
      fail("{}: {} is not a field of it; these are {}", fields.source(), shown(Json(name)),
           fmt::join(names, ", "));
}

}  // namespace

std::optional<Watermark> make_watermark(const Json& value, const std::string& source) {
  static constexpr std::string_view kGreenList[] = {"greenlist_ratio", "bias", "hashing_key",
                                                    "seeding_scheme", "context_width"};
  static constexpr std::string_view kSynthId[] = {"ngram_len",
                                                  "keys",
                                                  "context_history_size",
                                                  "sampling_table_seed",
                                                  "sampling_table_size",
                                                  "skip_first_ngram_calls",
                                                  "debug_mode"};
  if (value.is_null()) return {};
  const Fields fields(value, source);
  const bool synth_id = fields.has({"ngram_len", "keys"});
  if (synth_id)
    check_names(fields, kSynthId);
  else
    check_names(fields, kGreenList);
  return synth_id ? make_synth_id(fields) : make_green_list(fields);
}

Json watermark_fields(const std::optional<Watermark>& watermark) {
  if (!watermark) return {};
  if (const auto* green = std::get_if<GreenListWatermark>(&*watermark))
    return {{"greenlist_ratio", green->ratio},
            {"bias", green->bias},
            {"hashing_key", green->key},
            {"seeding_scheme", green->by_candidate ? "selfhash" : "lefthash"},
            {"context_width", green->context_width}};
  const auto& bits = std::get<SynthIdWatermark>(*watermark);
  return {{"ngram_len", bits.ngram_length},
          {"keys", bits.keys},
          {"context_history_size", bits.context_history},
          {"sampling_table_seed", bits.table_seed},
          {"sampling_table_size", bits.table_size},
          {"skip_first_ngram_calls", bits.skip_first_ngrams},
          {"debug_mode", bits.uniform}};
}

}  // namespace attend
