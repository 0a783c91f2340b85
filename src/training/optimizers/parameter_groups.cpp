#include "training/optimizers/parameter_groups.h"

#include "tokenizers/text/pattern.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace attend {
namespace {

// The position of a tensor in the model, from its name.
struct NamedPlace {
  enum class Kind { bottom, layer, top, pooler, head } kind = Kind::head;
  std::string stack;        // the part of the name up to "encoder" or "decoder"; empty: outside of both
  std::int64_t layer = -1;  // in its stack
  std::int64_t layers = 0;  // of its stack
  bool in_stack(std::string_view name) const {
    return stack == name || stack.ends_with("." + std::string(name));
  }
};

struct PlacedTensors {
  const NamedTensors& all;
  std::vector<NamedPlace> places;  // of the same tensor
};

std::vector<std::string> split(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// The number that is all of `text`; -1: it is not a number.
std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? value : -1;
}

NamedPlace place_of(const std::string& name) {
  const std::vector<std::string> parts = split(name);
  const auto stack = std::find_if(parts.begin(), parts.end(), [](const std::string& part) {
    return part == "encoder" || part == "decoder";
  });
  NamedPlace place;
  if (stack == parts.end()) {
    if (std::find(parts.begin(), parts.end(), "pooler") != parts.end()) place.kind = NamedPlace::Kind::pooler;
    return place;
  }
  for (auto part = parts.begin(); part <= stack; ++part)
    place.stack += (place.stack.empty() ? "" : ".") + *part;
  const std::string block = stack + 1 < parts.end() ? stack[1] : "";
  if (block == "layers" && stack + 2 < parts.end()) place.layer = number(stack[2]);
  const bool bottom =
      block == "embeddings" || block == "patches" || block == "distances" || block == "convolution";
  place.kind = place.layer >= 0 ? NamedPlace::Kind::layer
               : bottom         ? NamedPlace::Kind::bottom
                                : NamedPlace::Kind::top;
  return place;
}

PlacedTensors find_places(const NamedTensors& all) {
  PlacedTensors tensors{all, {}};
  std::map<std::string, std::int64_t> layers;
  for (const auto& [name, tensor] : all) {
    const NamedPlace& place = tensors.places.emplace_back(place_of(name));
    std::int64_t& count = layers[place.stack];
    count = std::max(count, place.layer + 1);
  }
  for (NamedPlace& place : tensors.places) place.layers = layers[place.stack];
  return tensors;
}

// "layers.A-B", optionally with a stack before it.
struct LayerRange {
  std::string stack;  // empty: any
  std::int64_t first, last;
};

std::optional<LayerRange> parse_layers(const std::string& pattern) {
  LayerRange range;
  std::string_view rest = pattern;
  for (const std::string_view stack : {"encoder", "decoder"})
    if (rest.starts_with(stack) && rest.substr(stack.size()).starts_with(".")) {
      range.stack = stack;
      rest.remove_prefix(stack.size() + 1);
    }
  if (!rest.starts_with("layers.")) return std::nullopt;
  rest.remove_prefix(7);
  const std::size_t dash = rest.find('-');
  range.first = number(rest.substr(0, dash));
  range.last = dash == std::string_view::npos ? range.first : number(rest.substr(dash + 1));
  if (range.first < 0 || range.last < 0) return std::nullopt;  // then it is a regular expression
  return range;
}

void check_layers(const LayerRange& range, const std::string& pattern, const PlacedTensors& tensors) {
  std::int64_t layers = 0;
  for (const NamedPlace& place : tensors.places)
    if (place.layer >= 0 && (range.stack.empty() || place.in_stack(range.stack)))
      layers = std::max(layers, place.layers);
  if (range.first > range.last || range.last >= layers)
    fail("`freeze` {}: expected layers from 0 to {}, the lower first", pattern, layers - 1);
}

// Whether each tensor matches.
std::vector<bool> matches(const std::string& pattern, const PlacedTensors& tensors) {
  std::vector<bool> matched;
  const auto choose = [&](const auto& chosen) {
    for (const NamedPlace& place : tensors.places) matched.push_back(chosen(place));
  };
  if (pattern == "embeddings") {
    choose([](const NamedPlace& place) { return place.kind == NamedPlace::Kind::bottom; });
  } else if (pattern == "encoder" || pattern == "decoder") {
    choose([&](const NamedPlace& place) { return place.in_stack(pattern); });
  } else if (pattern == "all-but-head") {
    choose([](const NamedPlace& place) { return place.kind != NamedPlace::Kind::head; });
  } else if (const auto range = parse_layers(pattern)) {
    check_layers(*range, pattern, tensors);
    choose([&](const NamedPlace& place) {
      return place.layer >= range->first && place.layer <= range->last &&
             (range->stack.empty() || place.in_stack(range->stack));
    });
  } else {
    const auto whole = tokenizers::Pattern::regex("\\A(?:" + pattern + ")\\z", "`freeze` " + pattern);
    std::vector<TextSpan> found;
    for (const auto& [name, tensor] : tensors.all) {
      whole.find_all(name, found);
      matched.push_back(!found.empty());
    }
  }
  return matched;
}

void freeze(const PlacedTensors& tensors, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    const std::vector<bool> matched = matches(pattern, tensors);
    bool any = false;
    for (std::size_t i = 0; i < matched.size(); ++i)
      if (matched[i]) {
        any = true;
        Tensor(tensors.all[i].second).set_needs_gradient(false);
      }
    if (!any)
      fail(
          "`freeze` {}: expected embeddings, encoder, decoder, layers.A-B, all-but-head or a regular "
          "expression of whole names like {}; it matches none of {}",
          pattern, tensors.all.empty() ? "" : tensors.all.front().first, tensors.all.size());
  }
}

double layer_rate(const NamedPlace& place, double decay) {
  switch (place.kind) {
    case NamedPlace::Kind::bottom:
      return std::pow(decay, static_cast<double>(place.layers + 1));
    case NamedPlace::Kind::layer:
      return std::pow(decay, static_cast<double>(place.layers - place.layer));
    case NamedPlace::Kind::top:
    case NamedPlace::Kind::pooler:
    case NamedPlace::Kind::head:
      return 1;
  }
  return 1;
}

// The number of parts that a module stacks in its weight or bias: nn/attention/attention.h; a gated
// nn/layers/feed_forward.h and nn/layers/experts.h, which the widths of the two matrices reveal.
std::int64_t parts_of(const std::string& name, const Tensor& weight,
                      const std::map<std::string, Tensor>& by_name) {
  const std::string module = name.substr(0, name.rfind('.'));
  if (!name.ends_with(".weight") && !name.ends_with(".bias")) return 1;
  if (module.ends_with("query_key_value")) return 3;
  if (module.ends_with("key_value")) return 2;
  const std::size_t dot = module.rfind('.');
  const std::string last = dot == module.npos ? module : module.substr(dot + 1);
  if (last != "in" && last != "out") return 1;
  const auto other = by_name.find(module.substr(0, dot + 1) + (last == "in" ? "out.weight" : "in.weight"));
  if (other == by_name.end() || other->second.dim() != 2) return 1;
  const std::int64_t width = other->second.size(1);
  return weight.size(0) % width == 0 ? std::max<std::int64_t>(weight.size(0) / width, 1) : 1;
}

// The number of query rows if a stack of queries, keys and values has more of them, from the width of the
// output matrix; else 0.
std::int64_t rows_of_queries(const std::string& name, const Tensor& weight,
                             const std::map<std::string, Tensor>& by_name) {
  std::string module = name.substr(0, name.rfind('.'));
  const std::string_view stacked = "query_key_value";
  if (!module.ends_with(stacked)) return 0;
  const auto out = by_name.find(module.substr(0, module.size() - stacked.size()) + "output.weight");
  if (out == by_name.end() || out->second.dim() != 2) return 0;
  const std::int64_t queries = out->second.size(1);
  return 3 * queries == weight.size(0) ? 0 : queries;
}

}  // namespace

NamedTensors named_parameters(const Module& network) {
  NamedTensors all;
  for (const auto& item : network.named_parameters()) all.emplace_back(item.key(), item.value());
  return all;
}

std::vector<Parameter> parameter_groups(const NamedTensors& all, const ParameterGroupOptions& options) {
  if (!(options.layer_decay > 0 && options.layer_decay <= 1))
    fail("`layer_decay`: expected a number above 0 and up to 1, found {}", options.layer_decay);
  if (!(options.head_rate > 0) || !std::isfinite(options.head_rate))
    fail("`head_rate`: expected a number above 0, found {}", options.head_rate);
  const PlacedTensors tensors = find_places(all);
  freeze(tensors, options.frozen);
  const std::map<std::string, Tensor> by_name(all.begin(), all.end());
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [name, weight] = all[i];
    if (!weight.needs_gradient()) continue;
    const NamedPlace& place = tensors.places[i];
    Parameter p{name, weight};
    p.rate = layer_rate(place, options.layer_decay);
    if (place.kind == NamedPlace::Kind::head) p.rate *= options.head_rate;
    p.decays = weight.dim() > 1;
    p.hidden_matrix = place.kind == NamedPlace::Kind::layer && weight.dim() == 2 && name.ends_with(".weight");
    p.parts = parts_of(name, weight, by_name);
    p.first_rows = rows_of_queries(name, weight, by_name);
    parameters.push_back(std::move(p));
  }
  if (parameters.empty()) fail("nothing is left to train: all of {} parameters are frozen", all.size());
  return parameters;
}

}  // namespace attend
