// Jinja, the language of chat templates, rendered as in transformers.
#pragma once

#include "formats/json/json.h"

#include <memory>
#include <string>
#include <string_view>

namespace attend {

// The whole language except statements that read other files: jinja2's expressions, filters and tests, with
// trim_blocks, lstrip_blocks, loop controls, {% generation %}, and an immutable sandbox.
class JinjaTemplate {
 public:
  // An Error that names `source`, the line and what is not supported.
  JinjaTemplate(std::string_view text, std::string source);

  struct Rendered {
    std::string text;
    // Begin and end of the parts within {% generation %}, in bytes: the assistant's text.
    std::vector<std::pair<std::size_t, std::size_t>> generated;
  };
  // `variables`: an object. An Error, with the line, for raise_exception in the template, for missing
  // variables, and if it takes too long.
  Rendered render_marked(const Json& variables) const;
  std::string render(const Json& variables) const { return render_marked(variables).text; }

 private:
  struct Tree;
  std::string source_;
  std::shared_ptr<const Tree> tree_;
};

}  // namespace attend
