#include "models/checkpoint/original_modules.h"

#include <algorithm>

namespace attend {
namespace {

constexpr std::string_view kWeight = ".weight";

std::string without_weight(const std::string& name) {
  return name.substr(0, name.size() - kWeight.size());
}

bool is_module(const WeightSource& source) {
  return source.shape.empty() && !source.frozen &&
         std::ranges::all_of(source.names, [](const std::string& name) { return name.ends_with(kWeight); });
}

void add_matrix(std::vector<OriginalModule>& all, const PretrainedModel& model, const std::string& parameter,
                const Tensor& weight) {
  const WeightSource source = model.source_of(parameter);
  if (!is_module(source)) return;
  for (std::size_t i = 0; i < source.names.size(); ++i) {
    const auto [first, rows] = source.rows_of(i, weight.size(0));
    all.push_back({.name = without_weight(model.saved_name(source.names[i])),
                   .parameter = parameter,
                   .in = weight.size(1),
                   .out = rows,
                   .first = first,
                   .order = head_order(source),
                   .transposed = source.layout == WeightLayout::transposed,
                   .scores_words = parameter == "language_model_head.weight",
                   .swapped = source.layout == WeightLayout::swapped});
  }
}

// The names of a stack's token module, if several modules share one table.
std::vector<std::string> table_names(const WeightSource& source, std::string_view stack) {
  std::vector<std::string> own;
  for (const std::string& alias : source.aliases)
    if (alias.find(std::string(stack) + ".") != alias.npos) own.push_back(alias);
  return own.empty() ? source.names : own;
}

void add_tables(std::vector<OriginalModule>& all, const PretrainedModel& model, const Stack& stack,
                const std::string& path) {
  if (!stack || !stack->embeddings) return;
  const auto add = [&](const char* name, const Tensor& table, const std::string& parameter) {
    if (!table.defined() || table.dim() != 2) return;
    const WeightSource source = model.source_of(parameter);
    if (!is_module(source)) return;
    for (const std::string& original : table_names(source, path))
      all.push_back({.name = without_weight(model.saved_name(original)),
                     .parameter = path + ".embeddings." + name,
                     .in = table.size(0),
                     .out = table.size(1),
                     .is_table = true});
  };
  const auto own = stack->embeddings->named_parameters(/*recurse=*/false);
  const std::string first = model.network()->encoder ? "encoder" : "decoder";
  add("tokens", stack->embeddings->tokens,
      (own.contains("tokens") ? path : first) + ".embeddings.tokens");  // or it is the encoder's
  for (const char* name : {"positions", "types", "languages", "tasks"})
    if (own.contains(name)) add(name, own[name], path + ".embeddings." + name);
}

}  // namespace

Tensor OriginalModule::to_ours(const Tensor& rows) const {
  if (swapped) return halves_swapped(rows);
  return order.heads == 0 ? rows : heads_apart(rows, order);
}

Tensor OriginalModule::to_original(const Tensor& rows) const {
  if (swapped) return halves_swapped(rows);
  return order.heads == 0 ? rows : heads_together(rows, order);
}

std::vector<OriginalModule> original_modules(const PretrainedModel& model) {
  std::vector<OriginalModule> all;
  const Transformer network = model.network();
  add_tables(all, model, network->encoder, "encoder");
  add_tables(all, model, network->decoder, "decoder");
  for (const auto& item : network->named_modules())
    if (const auto* matrix = item.value()->as<LinearImpl>())
      add_matrix(all, model, item.key() + std::string(kWeight), matrix->weight);
  const auto parameters = network->named_parameters();
  if (const auto* words = parameters.find("language_model_head.weight"))
    add_matrix(all, model, "language_model_head.weight", *words);
  return all;
}

std::vector<MatrixAdapter>& matrix_adapters(const PretrainedModel& model, const OriginalModule& module) {
  if (module.scores_words) return model.network()->language_model_head->adapters;
  const auto modules = model.network()->named_modules();
  return modules[without_weight(module.parameter)]->as<LinearImpl>()->adapters;
}

std::vector<TableAdapter>& table_adapters(const PretrainedModel& model, const OriginalModule& module) {
  const Transformer network = model.network();
  Stack stack = module.parameter.starts_with("encoder") ? network->encoder : network->decoder;
  return stack->embeddings->adapters[module.parameter.substr(module.parameter.rfind('.') + 1)];
}

Tensor parameter_of(const PretrainedModel& model, const OriginalModule& module) {
  const auto parameters = model.network()->named_parameters();
  if (const auto* found = parameters.find(module.parameter)) return *found;
  return model.network()->encoder->embeddings->tokens;  // a decoder reads it as well
}

}  // namespace attend
