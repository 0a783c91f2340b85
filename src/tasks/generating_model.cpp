#include "tasks/generating_model.h"

#include "generation/decoding/decoder.h"

namespace attend {
namespace {

PretrainedModel load(const ModelDirectory& directory) {
  PretrainedModel model = PretrainedModel::load(directory, Purpose::inference);
  check_generates(model);
  return model;
}

}  // namespace

GeneratingModel::GeneratingModel(const ModelDirectory& directory)
    : model(load(directory)),
      tokenizers(TokenizerPair::from_file(directory.path())),
      config(generation_config_of(model)),
      longest(directory.path(), model) {}

}  // namespace attend
