// The two small random models of tests/data/models that generate, and prompts for them.
#pragma once

#include "generation/config/config.h"
#include "generation/decoding/decoder.h"
#include "models/checkpoint/pretrained_model.h"
#include "test_data.h"

#include <filesystem>

namespace attend {

inline std::filesystem::path model_path(const std::string& name) {
  return test_data() / "models" / name;
}

inline PretrainedModel load_model(const std::string& name) {
  return PretrainedModel::load(ModelDirectory(model_path(name)), Purpose::inference);
}

inline GenerationConfig config_of(const PretrainedModel& model, const Json& settings) {
  GenerationConfig config = generation_config_of(model);
  apply_fields(config, Fields(settings, "settings"), FieldsFrom::caller);
  return config;
}

// Of different lengths, with ids of both models' vocabularies that are neither end nor padding.
inline std::vector<std::vector<std::int64_t>> make_prompts(std::size_t count) {
  std::vector<std::vector<std::int64_t>> prompts;
  for (std::size_t i = 0; i < count; ++i) {
    prompts.emplace_back();
    for (std::size_t j = 0; j < 1 + i * 5 % 11; ++j)
      prompts.back().push_back(static_cast<std::int64_t>(2 + (7 * i + 3 * j * j) % 37));
  }
  return prompts;
}

inline std::vector<Decoder::Sequence> add_prompts(Decoder& decoder, const std::vector<Prompt>& prompts) {
  std::vector<const Prompt*> pointers;
  for (const Prompt& prompt : prompts) pointers.push_back(&prompt);
  return decoder.add(pointers);
}

}  // namespace attend
