// Writes a model as a GGUF file in the layout of llama.cpp's convert_hf_to_gguf.py.
#pragma once

#include "models/checkpoint/pretrained_model.h"

#include <filesystem>
#include <string>

namespace attend {

// `model` with float32 weights, loaded from `directory`; the file includes its tokenizer. `type`: of
// matrices, "f32", "f16", "q8_0", "q4_0" or "q4_k_m". An Error for a family or a setting that llama.cpp does
// not support.
void write_gguf(const PretrainedModel& model, const std::filesystem::path& directory, const std::string& type,
                const std::filesystem::path& file);

}  // namespace attend
