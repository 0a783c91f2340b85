// Where models keep their chat templates.
#pragma once

#include "formats/json/json.h"

#include <filesystem>
#include <map>
#include <string>

namespace attend {

struct TemplateText {
  std::string text, source;  // `source` names it in errors
};

// Templates by name, found as in transformers: chat_template.jinja is "default",
// additional_chat_templates/NAME.jinja others; else the chat_template of tokenizer_config.json, a text or a
// list of them with names; else that of chat_template.json. Empty: the model has none.
std::map<std::string, TemplateText> read_chat_templates(const std::filesystem::path& model,
                                                        const Fields& config);

}  // namespace attend
