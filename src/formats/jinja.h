// The part of Jinja that chat templates use: text with {{ expressions }}, {% for %}, {% if %} and {% set %},
// rendered as in transformers (with trim_blocks and lstrip_blocks).
#pragma once

#include "formats/json.h"

#include <memory>
#include <string>
#include <string_view>

namespace attend {

class JinjaTemplate {
 public:
  // Error, naming `source` and what is not understood, for anything beyond that part. Within an expression it
  // may come as late as render().
  JinjaTemplate(std::string_view text, std::string source);

  // `variables`: an object. Error for what the template itself refuses (raise_exception).
  std::string render(const Json& variables) const;

  struct Node;

 private:
  std::string source_;
  std::shared_ptr<const Node> root_;
};

}  // namespace attend
