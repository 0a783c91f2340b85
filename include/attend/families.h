// What models there are, as data.
#pragma once

#include <attend/export.h>

#include <string>
#include <vector>

namespace attend {

struct FamilyInfo {
  std::string model_type;                  // of config.json: "gpt2"
  std::vector<std::string> architectures;  // "GPT2LMHeadModel", ...; the first where config.json has none
  std::vector<std::string> presets;        // sizes of a fresh one, the usual first; empty: it has none
};

ATTEND_API std::vector<FamilyInfo> list_families();

// The config.json of a fresh model of this size. Error that lists what there is.
ATTEND_API std::string preset_config(const std::string& model_type, const std::string& preset);

}  // namespace attend
