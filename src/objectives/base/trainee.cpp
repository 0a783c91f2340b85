#include "objectives/base/trainee.h"

#include "base/log.h"
#include "models/adapters/adapter.h"

#include <set>

namespace attend {

namespace {

std::vector<std::pair<std::string, Tensor>> own_parameters(const PretrainedModel& model) {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto& adapter : model.adapters())
    for (const auto& [name, tensor] : adapter->parameters()) all.emplace_back(name, tensor);
  for (const auto& item : model.network()->named_parameters())
    if (model.adapters().empty() || item.value().needs_gradient()) all.emplace_back(item.key(), item.value());
  return all;
}

}  // namespace

Trainee::Trainee(PretrainedModel model) {
  parts_.push_back({"", std::move(model)});
}

void Trainee::add(std::string name, PretrainedModel model) {
  parts_.push_back({std::move(name), std::move(model)});
}

void Trainee::adapt(const AdapterOptions& options, const std::string& task, std::uint64_t seed) {
  PretrainedModel& model = parts_.front().model;
  auto adapter = std::make_shared<Adapter>(Adapter::fresh(model, options, task, seed));
  adapter->train(model);
  inform("the adapter learns {} numbers, {:.2f} % of the model's {}", adapter->size(),
         100.0 * static_cast<double>(adapter->size()) / static_cast<double>(model.size()), model.size());
  model.add_adapter(std::move(adapter));
}

const PretrainedModel& Trainee::model(std::string_view name) const {
  for (const Part& part : parts_)
    if (part.name == name) return part.model;
  fail("nothing called {} is trained here", name);
}

std::vector<std::pair<std::string, Tensor>> Trainee::parameters() const {
  std::vector<std::pair<std::string, Tensor>> all;
  std::set<const void*> seen;
  for (const Part& part : parts_)
    for (const auto& [name, tensor] : own_parameters(part.model))
      if (seen.insert(tensor.identity()).second)
        all.emplace_back(part.name.empty() ? name : part.name + "." + name, tensor);
  return all;
}

std::vector<Transformer> Trainee::networks() const {
  std::vector<Transformer> all;
  for (const Part& part : parts_) all.push_back(part.model.network());
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
    if (table.gradient().defined()) table.gradient()[row].zero_();
  for (const Part& part : parts_)
    for (const auto& adapter : part.model.adapters()) adapter->constrain_gradients();
}

void Trainee::save(const std::filesystem::path& directory) const {
  for (const Part& part : parts_) {
    const std::filesystem::path place = part.name.empty() ? directory : directory / part.name;
    if (part.model.adapters().empty()) {
      part.model.save(place);
    } else {
      part.model.adapters().front()->save(part.model, place);
      part.model.save_config(place);
    }
  }
}

void Trainee::load_weights(const std::filesystem::path& directory, const AfterReading& after_reading) {
  for (Part& part : parts_) {
    const std::filesystem::path place = part.name.empty() ? directory : directory / part.name;
    if (part.model.adapters().empty())
      part.model.set_weights(open_source(place)->weight_files(), Purpose::training, after_reading);
    else
      part.model.adapters().front()->restore(part.model, place);
  }
}

}  // namespace attend
