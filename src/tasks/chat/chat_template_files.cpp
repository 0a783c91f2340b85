#include "tasks/chat/chat_template_files.h"

#include "base/error.h"
#include "base/file.h"

namespace attend {
namespace {

using TemplateTexts = std::map<std::string, TemplateText>;

// A text, a list of {"name", "template"}, or an object of texts by name.
TemplateTexts read_field(const Fields& fields) {
  const std::string source = fields.source() + ": chat_template";
  TemplateTexts templates;
  const auto own = fields.json().find("chat_template");
  if (own == fields.json().end() || own->is_null()) return templates;
  if (own->is_string()) {
    templates["default"] = {own->get<std::string>(), source};
  } else if (own->is_array()) {
    for (const Json& each : *own) {
      const Fields named(each, source);
      const std::string name = named.text({"name"});
      templates[name] = {named.text({"template"}), source + " " + name};
    }
  } else {
    const Fields named(*own, source);
    for (const auto& [name, text] : named.json().items())
      templates[name] = {named.text({name}), source + " " + name};
  }
  return templates;
}

}  // namespace

TemplateTexts read_chat_templates(const std::filesystem::path& model, const Fields& config) {
  TemplateTexts templates;
  if (const auto file = model / "chat_template.jinja"; file_exists(file))
    templates["default"] = {read_file(file), file.string()};
  if (const auto folder = model / "additional_chat_templates"; std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".jinja")
        templates[entry.path().stem().string()] = {read_file(entry.path()), entry.path().string()};
  if (templates.empty()) templates = read_field(config);
  if (const auto file = model / "chat_template.json"; templates.empty() && file_exists(file))
    templates = read_field(Fields(read_json(file), file.string()));
  return templates;
}

}  // namespace attend
