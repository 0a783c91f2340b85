// A model as a GGUF file, laid out as llama.cpp's convert_hf_to_gguf.py does it.
#pragma once

#include "models/pretrained_model.h"

#include <filesystem>
#include <string>

namespace attend {

// `model` with float32 weights, loaded from `directory`, whose tokenizer goes into the file. `type`: of
// matrices, "f32", "f16", "q8_0", "q4_0" or "q4_k_m". Error for a family or a setting that llama.cpp does not know.
void write_gguf(const PretrainedModel& model, const std::filesystem::path& directory, const std::string& type,
                const std::filesystem::path& file);

}  // namespace attend
