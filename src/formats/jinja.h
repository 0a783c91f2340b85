// Jinja, in which chat templates are written, rendered as transformers does.
#pragma once

#include "formats/json.h"

#include <memory>
#include <string>
#include <string_view>

namespace attend {

// The whole language but for statements that read other files: jinja2's expressions, filters and tests, with
// trim_blocks, lstrip_blocks, loop controls, {% generation %}, and an immutable sandbox.
class JinjaTemplate {
 public:
  // Error, naming `source`, the line and what is not understood.
  JinjaTemplate(std::string_view text, std::string source);

  struct Rendered {
    std::string text;
    // Where the parts within {% generation %} begin and end, in bytes: what the model is to say.
    std::vector<std::pair<std::size_t, std::size_t>> generated;
  };
  // `variables`: an object. Error, with the line, for what the template itself refuses (raise_exception),
  // what it lacks, and one that takes too long.
  Rendered render_marked(const Json& variables) const;
  std::string render(const Json& variables) const { return render_marked(variables).text; }

 private:
  struct Tree;
  std::string source_;
  std::shared_ptr<const Tree> tree_;
};

}  // namespace attend
