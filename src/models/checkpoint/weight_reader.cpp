#include "models/checkpoint/weight_reader.h"

#include "models/checkpoint/quantized.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_layout.h"

#include <algorithm>

namespace attend {
namespace {

std::string shape_text(Dimensions shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void check_shape(const std::string& file, const std::string& name, Dimensions found, Dimensions expected) {
  if (found != expected)
    fail("{}: {}: expected the shape {} (from config.json), found {}", file, name, shape_text(expected),
         shape_text(found));
}

}  // namespace

std::vector<std::string> spellings(const std::string& name, std::string_view prefix) {
  std::vector<std::string> all{name};
  const std::string dotted = std::string(prefix) + ".";
  all.push_back(name.starts_with(dotted) ? name.substr(dotted.size()) : dotted + name);
  // Heads for answers call their body "transformer", although the family's other heads do not.
  constexpr std::string_view kOther = "transformer.";
  if (dotted != kOther && name.starts_with(kOther)) all.push_back(dotted + name.substr(kOther.size()));
  if (dotted != kOther && name.starts_with(dotted))
    all.push_back(std::string(kOther) + name.substr(dotted.size()));
  all.push_back("language_model." + name);  // of a model that also reads images (Gemma 3)
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i)
    for (auto [now, then] :
         {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
      if (all[i].ends_with(now))
        all.push_back(all[i].substr(0, all[i].size() - std::string_view(now).size()) + then);
  return all;
}

bool WeightReader::has(std::size_t i, const WeightSource& source, const Tensor& weight, bool shape) const {
  const std::vector<std::string> names = all_names(source.names[i], source);
  const auto expected = source.shape.empty() ? checkpoint_shape(weight, source, i) : source.shape;
  if (const Adapter* adapter = owner(names)) return !shape || adapter->replacement(names).sizes() == expected;
  const std::string* const found = find_one(names);
  return found != nullptr && (!shape || checkpoint_.find(*found)->shape == expected);
}

void WeightReader::pass_over(const std::string& name, const WeightSource& source) {
  const std::vector<std::string> names = all_names(name, source);
  asked_.insert(names.begin(), names.end());
}

Tensor WeightReader::read(std::size_t i, const WeightSource& source, const Tensor& weight) {
  const std::vector<std::string> names = all_names(source.names[i], source);
  asked_.insert(names.begin(), names.end());
  const auto plain = checkpoint_shape(weight, source, i);
  return to_ours(map(source.names[i], names, source.shape.empty() ? plain : source.shape).view(plain),
                 source);
}

std::optional<NumberGroups> WeightReader::read_groups(std::size_t i, const WeightSource& source,
                                                      const Tensor& weight) {
  const std::vector<std::string> names = all_names(source.names[i], source);
  const std::string* const found = find_one(names);
  const TensorView* const view = found ? checkpoint_.find(*found) : nullptr;
  const bool by_rows = source.layout == WeightLayout::same || source.layout == WeightLayout::swapped;
  if (view == nullptr || !view->code || !view->code->groups || view->transposed || !by_rows ||
      !source.shape.empty())
    return {};
  const TensorGroups& groups = *view->code->groups;
  NumberGroups read{.numbers = this->read(i, source, weight).contiguous(),
                    .size = static_cast<std::int64_t>(groups.size),
                    .lowest = groups.lowest,
                    .highest = groups.highest};
  const auto each = [&] { return ops::empty({view->shape[0], view->shape[1] / read.size}, kFloat); };
  read.scales = each();
  if (groups.has_starts) read.starts = each();
  const auto all = [](const Tensor& t) {
    return t.defined() ? std::span<float>(t.data<float>(), static_cast<std::size_t>(t.numel()))
                       : std::span<float>();
  };
  groups.read(all(read.scales), all(read.starts));
  read.scales = to_ours(read.scales, source).contiguous();
  if (groups.has_starts) read.starts = to_ours(read.starts, source).contiguous();
  return read;
}

Tensor WeightReader::replacement(std::size_t i, const WeightSource& source, const Tensor& weight) const {
  const std::vector<std::string> names = all_names(source.names[i], source);
  const Adapter* const adapter = owner(names);
  if (adapter == nullptr) return {};
  const auto plain = checkpoint_shape(weight, source, i);
  const Tensor whole = adapter->replacement(names);
  check_shape(adapter->source(), source.names[i], whole.sizes(), source.shape.empty() ? plain : source.shape);
  return to_ours(whole.view(plain), source);
}

bool WeightReader::replaces(const WeightSource& source) const {
  return std::ranges::any_of(
      source.names, [&](const std::string& name) { return owner(all_names(name, source)) != nullptr; });
}

std::string WeightReader::origin(const WeightSource& own, const WeightSource& in_checkpoint) const {
  std::string all;
  for (std::size_t i = 0; i < own.names.size(); ++i) {
    const Adapter* const adapter = owner(all_names(own.names[i], own));
    const std::vector<std::string> names = all_names(in_checkpoint.names[i], in_checkpoint);
    const std::string* const found = find_one(names);
    all += (adapter ? adapter->source() + "\n" + own.names[i]
                    : "\n" + (found ? *found : in_checkpoint.names[i])) +
           "\n";
  }
  return all;
}

// Two lines for each part: the adapter, or nothing; and the tensor's name.
bool WeightReader::is_of_checkpoint(std::string_view origin) {
  while (!origin.empty()) {
    if (!origin.starts_with('\n')) return false;
    origin.remove_prefix(origin.find('\n', 1) + 1);
  }
  return true;
}

std::map<std::string, Tensor> WeightReader::read_stored(const WeightSource& source, WeightFormat format) {
  std::map<std::string, Tensor> stored;
  for (const std::string& part : stored_parts(format)) {
    std::vector<Tensor> pieces;
    for (const std::string& name : source.names) {
      std::vector<std::string> names = all_names(name, source);
      for (std::string& each : names) each += part;
      asked_.insert(names.begin(), names.end());
      const std::string* const found = find_one(names);
      if (found == nullptr) fail("{}: the tensor {} is missing", source_, name + part);
      const Tensor piece = map_tensor(*checkpoint_.find(*found), checkpoint_.owner_of(*found));
      if (piece.dim() != 2)
        fail("{}: {}: expected two dimensions, found {}", checkpoint_.file_of(*found).string(), *found,
             piece.sizes());
      pieces.push_back(to_ours(piece, source));
    }
    for (const Tensor& piece : pieces)
      if (piece.size(1) != pieces[0].size(1) || piece.type() != pieces[0].type())
        fail("{}: {}: expected parts of the same shape", source_, source.names[0] + part);
    stored[part] = pieces.size() == 1 ? pieces[0] : ops::cat(pieces);
  }
  return stored;
}

bool WeightReader::is_of_further_layer(const std::string& name) const {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    if (part != "0" && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }))
      if (was_asked(name.substr(0, begin) + "0" + name.substr(end))) return true;
    begin = end + 1;
  }
  return false;
}

const Adapter* WeightReader::owner(const std::vector<std::string>& names) const {
  for (const auto& adapter : adapters_)
    if (adapter->replacement(names).defined()) return adapter.get();
  return nullptr;
}

std::vector<std::string> WeightReader::all_names(const std::string& name, const WeightSource& source) const {
  std::vector<std::string> names = spellings(name, prefix_);
  for (const std::string& alias : source.aliases)
    for (std::string& spelling : spellings(alias, prefix_)) names.push_back(std::move(spelling));
  return names;
}

const std::string* WeightReader::find_one(const std::vector<std::string>& names) const {
  const auto found = std::ranges::find_if(
      names, [&](const std::string& spelling) { return checkpoint_.find(spelling) != nullptr; });
  return found == names.end() ? nullptr : &*found;
}

Tensor WeightReader::map(const std::string& name, const std::vector<std::string>& names,
                         Dimensions expected) const {
  const std::string* const found = find_one(names);
  if (found == nullptr) fail("{}: the tensor {} is missing", source_, name);
  const TensorView& view = *checkpoint_.find(*found);
  const std::string file = checkpoint_.file_of(*found).string();
  check_shape(file, *found, view.shape, expected);
  if (!is_floating(view.type))
    fail("{}: {}: expected floating-point numbers, found {}", file, *found, attend::name(view.type));
  return map_tensor(view, checkpoint_.owner_of(*found));
}

}  // namespace attend
