#include <attend/families.h>
#include <attend/model.h>

#include "base/error.h"
#include "generation/decoding/decoder.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/padded/forward.h"
#include "tasks/arrays.h"

#include <mutex>

namespace attend {

struct Model::State {
  ModelPath path;
  ModelDirectory directory;
  std::shared_ptr<const PretrainedModel> model;
  std::string config;
  bool gives_gradients;
  mutable std::mutex collecting;
  mutable std::once_flag tokenizers_are_read;
  mutable std::optional<TokenizerPair> tokenizers;

  State(const ModelPath& given, const ModelOptions& options)
      : path(given),
        directory(given),
        model(std::make_shared<const PretrainedModel>(
            PretrainedModel::load(directory, options.gradients ? Purpose::training : Purpose::inference))),
        config(model->config().json().dump(2)),
        gives_gradients(options.gradients) {
    path.loaded = model;
  }
};

Model::Model(const ModelPath& path, const ModelOptions& options) {
  const ErrorScope scope(ErrorKind::model);
  state_ = std::make_shared<const State>(path, options);
}

Model::operator ModelPath() const {
  return state_->path;
}

Arrays Model::forward(const Arrays& inputs, const OutputOptions& options) const {
  const ErrorScope scope(ErrorKind::input);
  if (options.gradients && !state_->gives_gradients)
    throw Error("gradients are given by a model that was loaded for it (ModelOptions::gradients)",
                ErrorKind::call);
  const auto run = [&] {
    return to_arrays(run_forward(*state_->model, to_tensors(inputs),
                                 {.hidden_states = options.hidden_states,
                                  .attentions = options.attentions,
                                  .adapter = options.adapter,
                                  .gradients = options.gradients}));
  };
  if (options.gradients) {  // gradients are collected in the weights
    const std::lock_guard one(state_->collecting);
    return run();
  }
  const Unrecorded inference;
  return run();
}

const TokenizerPair& Model::tokenizers() const {
  std::call_once(state_->tokenizers_are_read, [&] {
    const ErrorScope scope(ErrorKind::model);
    state_->tokenizers = TokenizerPair::from_file(state_->directory.path());
  });
  return *state_->tokenizers;
}

std::string Model::model_type() const {
  return std::string(state_->model->family().model_type);
}
bool Model::generates() const {
  return attend::generates(*state_->model);
}
const std::string& Model::architecture() const {
  return state_->model->architecture();
}
const std::string& Model::config() const {
  return state_->config;
}
std::int64_t Model::size() const {
  return state_->model->size();
}

std::vector<FamilyInfo> v1::list_families() {
  std::vector<FamilyInfo> all;
  for (const Family* family : families())
    all.push_back({std::string(family->model_type),
                   {family->architectures.begin(), family->architectures.end()},
                   {family->presets.begin(), family->presets.end()}});
  return all;
}

std::string v1::preset_config(const std::string& model_type, const std::string& preset) {
  const Family& family = find_family(model_type);
  if (std::ranges::find(family.presets, preset) == family.presets.end())
    fail("{} has no preset \"{}\"; it has: {}", family.model_type, preset, fmt::join(family.presets, ", "));
  return family.fresh_config(preset).dump(2);
}

}  // namespace attend
