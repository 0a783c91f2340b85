// The list of supported model families.
#pragma once

#include <attend/export.h>

#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct FamilyInfo {
  std::string model_type;                  // model_type in config.json: "gpt2"
  std::vector<std::string> architectures;  // "GPT2LMHeadModel", ...; the first is the default
  std::vector<std::string> presets;        // sizes of a new model, the default first; may be empty
};

// All families.
ATTEND_API std::vector<FamilyInfo> list_families();

// The config.json of a new model of this size. Throws Error for an unknown name; it lists the valid ones.
ATTEND_API std::string preset_config(const std::string& model_type, const std::string& preset);

}  // namespace v1
}  // namespace attend
