#include "models/families/rotary_fields.h"

#include "base/error.h"
#include "nn/spec/rotary_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attend {
namespace {

// The object with the scaling of base and frequencies: rope_parameters, for one kind of layer if it
// distinguishes kinds; or rope_scaling; empty if there is none.
struct ScalingFields {
  Fields fields;
  bool newer;  // rope_parameters, which has every setting in it
};

ScalingFields scaling_fields(const Fields& config, std::string_view layers) {
  const auto object = [&](const Json& all, const std::string& name) {
    const auto found = all.find(name);
    return found != all.end() && !found->is_null() ? *found : Json::object();
  };
  Json fields = object(config.json(), "rope_parameters");
  const std::string kind(layers.empty() ? "full_attention" : layers);
  if (fields.is_object() && fields.contains(kind)) fields = object(fields, kind);
  const bool newer = !fields.empty();
  if (!newer) fields = object(config.json(), "rope_scaling");
  return {{fields, config.source() + (newer ? ": rope_parameters" : ": rope_scaling")}, newer};
}

double read_base(const Fields& config, const Fields& fields, double usual) {
  return fields.number({"rope_theta"}, config.number({"rope_theta"}, usual, 1e-3, 1e30), 1e-3, 1e30);
}

// The inputs of every kind of scaling.
struct Scaling {
  const Fields& fields;
  double base;
  std::int64_t positions;                // of the model
  std::optional<std::int64_t> original;  // length before extension to longer texts
  bool newer;                            // as in ScalingFields
  RotarySpec& spec;

  double factor() const { return fields.number({"factor"}, {}, 1e-6, 1e6); }
};

void scale_linearly(const Scaling& s) {
  const auto factor = static_cast<float>(s.factor());
  for (float& each : s.spec.frequencies) each /= factor;
}

void scale_dynamically(const Scaling& s) {
  if (s.spec.size <= 2)
    fail("{}: dynamic: expected heads with more than one rotated pair", s.fields.source());
  s.spec.growing = {s.base, s.factor(), s.positions};
}

// Peng et al. 2023, arXiv:2309.00071: fast pairs stay, slow ones are slowed down, with a ramp in between.
void scale_by_yarn(const Scaling& s) {
  const double factor = s.factor(), fast = s.fields.number({"beta_fast"}, 32),
               slow = s.fields.number({"beta_slow"}, 1), n = static_cast<double>(s.spec.size);
  const auto original =
      static_cast<double>(s.fields.integer({"original_max_position_embeddings"}, s.positions));
  const auto pair_of = [&](double turns) {
    return n * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(s.base));
  };
  double low = pair_of(fast), high = pair_of(slow);
  if (s.fields.flag({"truncate"}, true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, n - 1);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < s.spec.frequencies.size(); ++i) {
    float& each = s.spec.frequencies[i];
    const float slowed = 1.0F / (static_cast<float>(factor) * (1.0F / each)),
                kept = 1 - std::clamp(static_cast<float>((static_cast<double>(i) - low) / (high - low)), 0.0F,
                                      1.0F);
    each = slowed * (1 - kept) + each * kept;
  }
  const auto grown = [&](double scale) { return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1; };
  const double scale = s.fields.number({"mscale"}, 0), all = s.fields.number({"mscale_all_dim"}, 0);
  s.spec.factor =
      s.fields.number({"attention_factor"}, scale != 0 && all != 0 ? grown(scale) / grown(all) : grown(1));
}

std::vector<float> divided(const Scaling& s, const char* name) {
  const auto found = s.fields.json().find(name);
  if (found == s.fields.json().end() || !found->is_array() || found->size() != s.spec.frequencies.size() ||
      !std::ranges::all_of(*found, [](const Json& each) { return each.is_number(); }))
    fail("{}: {}: expected a list of {} numbers", s.fields.source(), name, s.spec.frequencies.size());
  std::vector<float> frequencies;
  for (std::size_t i = 0; i < found->size(); ++i)
    frequencies.push_back(1.0F / ((*found)[i].get<float>() * (1.0F / s.spec.frequencies[i])));
  return frequencies;
}

void scale_by_longrope(const Scaling& s) {
  const std::int64_t original = s.original.value_or(s.positions);
  // rope_scaling's own factor counts only if the original length is unknown.
  const double ratio = static_cast<double>(s.positions) / static_cast<double>(original);
  const double factor = s.original && !s.newer ? ratio : s.fields.number({"factor"}, ratio);
  s.spec.factor = s.fields.number(
      {"attention_factor"},
      factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(original))));
  s.spec.long_frequencies = divided(s, "long_factor");
  s.spec.frequencies = divided(s, "short_factor");
  s.spec.short_length = original;
}

// Llama 3.1 (Dubey et al. 2024, arXiv:2407.21783): by wavelength.
void scale_by_wavelength(const Scaling& s) {
  const auto factor = static_cast<float>(s.factor());
  const double low = s.fields.number({"low_freq_factor"}, {}, 1e-6, 1e6),
               high = s.fields.number({"high_freq_factor"}, {}, 1e-6, 1e6);
  const auto original = static_cast<double>(s.fields.integer({"original_max_position_embeddings"}));
  for (float& each : s.spec.frequencies) {
    const float length = static_cast<float>(2 * std::numbers::pi) / each;
    if (length > static_cast<float>(original / low)) {
      each /= factor;
    } else if (length >= static_cast<float>(original / high)) {
      const float kept =
          (static_cast<float>(original) / length - static_cast<float>(low)) / static_cast<float>(high - low);
      each = (1 - kept) * each / factor + kept * each;
    }
  }
}

}  // namespace

RotarySpec unscaled_rotary(const RotaryDefaults& defaults) {
  RotarySpec spec;
  spec.size = static_cast<std::int64_t>(static_cast<double>(defaults.head_size) * defaults.part);
  spec.halves = defaults.halves;
  spec.frequencies = rotary_frequencies(defaults.base, spec.size);
  return spec;
}

RotarySpec read_rotary(const Fields& config, const RotaryDefaults& given, std::string_view layers) {
  const auto [fields, newer] = scaling_fields(config, layers);
  RotaryDefaults defaults = given;
  defaults.base = read_base(config, fields, given.base);
  defaults.part = fields.number({"partial_rotary_factor"},
                                config.number({"partial_rotary_factor"}, given.part, 0, 1), 0, 1);
  RotarySpec spec = unscaled_rotary(defaults);
  if (spec.size < 2 || spec.size % 2 != 0)
    fail("{}: expected an even number of rotated elements among a head's {}, found {}", config.source(),
         given.head_size, spec.size);
  const std::string kind = fields.json().empty() ? "default" : fields.text({"rope_type", "type"}, "default");
  auto original = config.maybe_integer({"original_max_position_embeddings"}, 1);
  if (newer && fields.has({"original_max_position_embeddings"}))
    original = fields.integer({"original_max_position_embeddings"});
  const Scaling scaling{fields, defaults.base, given.positions, original, newer, spec};
  if (kind == "linear")
    scale_linearly(scaling);
  else if (kind == "dynamic")
    scale_dynamically(scaling);
  else if (kind == "yarn")
    scale_by_yarn(scaling);
  else if (kind == "longrope")
    scale_by_longrope(scaling);
  else if (kind == "llama3")
    scale_by_wavelength(scaling);
  else if (kind != "default")
    fail("{}: rope_type: expected default, linear, dynamic, yarn, longrope or llama3, found \"{}\"",
         fields.source(), kind);
  return spec;
}

double rotary_base(const Fields& config, double usual) {
  return read_base(config, scaling_fields(config, {}).fields, usual);
}

RotarySpec read_sliding_rotary(const Fields& config, const RotaryDefaults& defaults) {
  const auto newer = config.json().find("rope_parameters");
  if (newer != config.json().end() && newer->is_object() && newer->contains("sliding_attention"))
    return read_rotary(config, defaults, "sliding_attention");
  return unscaled_rotary(defaults);
}

}  // namespace attend
