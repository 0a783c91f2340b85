#include "objectives/trainee.h"

#include <set>

namespace attend {

Trainee::Trainee(Model model) {
  parts_.push_back({"", std::move(model)});
}

void Trainee::add(std::string name, Model model) {
  parts_.push_back({std::move(name), std::move(model)});
}

const Model& Trainee::model(std::string_view name) const {
  for (const Part& part : parts_)
    if (part.name == name) return part.model;
  fail("nothing called {} is trained here", name);
}

std::vector<std::pair<std::string, Tensor>> Trainee::parameters() const {
  std::vector<std::pair<std::string, Tensor>> all;
  std::set<const void*> seen;
  for (const Part& part : parts_)
    for (const auto& item : part.model.network()->named_parameters())
      if (seen.insert(item.value().unsafeGetTensorImpl()).second)
        all.emplace_back(part.name.empty() ? item.key() : part.name + "." + item.key(), item.value());
  return all;
}

std::vector<Tensor> Trainee::weights() const {
  std::vector<Tensor> all;
  for (const auto& [name, weight] : parameters()) all.push_back(weight);
  return all;
}

void Trainee::find_constraints() {
  zero_rows_.clear();
  for (const Part& part : parts_) {
    const Transformer network = part.model.network();
    for (const Stack& stack : {network->encoder, network->decoder}) {
      if (!stack || !stack->embeddings || !stack->embeddings->tokens.defined()) continue;
      const std::int64_t row = stack->embeddings->spec().padding_id;
      if (row >= 0 && stack->embeddings->tokens[row].eq(0).all().item<bool>())
        zero_rows_.emplace_back(stack->embeddings->tokens, row);
    }
  }
}

void Trainee::constrain_gradients() const {
  for (const auto& [table, row] : zero_rows_)
    if (table.grad().defined()) table.grad()[row].zero_();
}

void Trainee::save(const std::filesystem::path& directory) const {
  for (const Part& part : parts_) part.model.save(part.name.empty() ? directory : directory / part.name);
}

void Trainee::load_weights(const std::filesystem::path& directory) {
  for (Part& part : parts_)
    part.model.set_weights(Checkpoint::open(part.name.empty() ? directory : directory / part.name),
                           Purpose::training);
}

}  // namespace attend
