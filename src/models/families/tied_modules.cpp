#include "models/families/tied_modules.h"

#include "base/error.h"

#include <algorithm>

namespace attend {
namespace {

constexpr const char *kHead = "language_model_head.weight", *kEncoder = "encoder.embeddings.tokens",
                     *kDecoder = "decoder.embeddings.tokens";

bool shares_tables(const ModelSpec& spec) {
  return spec.encoder && spec.decoder && spec.share_embeddings && spec.encoder_family.empty() &&
         !spec.encoder->patches;
}

bool shares_head(const ModelSpec& spec) {
  return spec.language_model_head && !spec.language_model_head->untied && !spec.language_model_head->clusters;
}

// The table that the head is tied to.
const char* table_of_head(const ModelSpec& spec) {
  return spec.decoder && !shares_tables(spec) ? kDecoder : kEncoder;
}

// Whether an adapter has one of the parameter's modules, in any spelling, whole.
bool owns_any(const Family& family, const std::vector<WeightName>& table, const char* parameter,
              const OwnsModule& owns) {
  const std::string prefix = std::string(family.prefix) + ".";
  return std::ranges::any_of(find_source(table, parameter).names, [&](const std::string& name) {
    const std::string module = name.substr(0, name.rfind('.'));
    return owns(module) || (module.starts_with(prefix) && owns(module.substr(prefix.size())));
  });
}

}  // namespace

std::optional<ModelSpec> untied(const Family& family, const ModelSpec& spec, const OwnsModule& owns) {
  const bool tables = shares_tables(spec), head = shares_head(spec);
  if (!owns || (!tables && !head)) return {};
  ModelSpec apart = spec;
  if (head) apart.language_model_head->untied = true;
  const std::vector<WeightName> names = family.weights(apart);
  if (tables) {
    ModelSpec unshared = apart;
    unshared.share_embeddings = false;
    const std::vector<WeightName> own = family.weights(unshared);
    // The original's stacks read their own modules, and nothing reads the one that they were copied from.
    if (owns_any(family, names, kEncoder, owns) || owns_any(family, own, kEncoder, owns) ||
        owns_any(family, own, kDecoder, owns))
      return unshared;
    return head && owns_any(family, names, kHead, owns) ? std::optional(apart) : std::nullopt;
  }
  const bool owns_table = owns_any(family, names, table_of_head(spec), owns);
  if (std::ranges::none_of(names, [](const WeightName& row) { return matches(row.ours, kHead); })) {
    if (!owns_table) return {};
    fail(
        "modules_to_save: the adapter has its own token table, but a {} has no name for a separate matrix of "
        "the head that is tied to it; leave the table out",
        family.model_type);
  }
  return owns_table || owns_any(family, names, kHead, owns) ? std::optional(apart) : std::nullopt;
}

std::vector<WeightName> untied_names(const Family& family, const ModelSpec& spec) {
  std::vector<WeightName> table = family.weights(spec);
  if (!spec.language_model_head) return table;
  const std::vector<std::string> of_head = find_source(table, kHead).names;
  for (WeightName& row : table)
    if (!matches(row.ours, kHead)) std::erase(row.aliases, of_head.front());
  return table;
}

std::string tied_parameter(const ModelSpec& tied, const std::string& parameter) {
  if (parameter == kHead && shares_head(tied)) return table_of_head(tied);
  return parameter == kDecoder && shares_tables(tied) ? kEncoder : parameter;
}

}  // namespace attend
