#include "formats/jinja/jinja.h"

#include "base/error.h"
#include "base/utf8.h"
#include "formats/jinja/evaluator.h"
#include "formats/jinja/parser.h"

namespace attend {

constexpr std::size_t kMaxTemplateWork = 20'000'000;  // about a second; real templates need thousands

struct JinjaTemplate::Tree {
  jinja::Body body;
};

JinjaTemplate::JinjaTemplate(std::string_view text, std::string source) : source_(std::move(source)) {
  if (const auto at = find_invalid_utf8(text)) fail("{}: not valid UTF-8 at byte {}", source_, *at);
  try {
    tree_ = std::make_shared<const Tree>(Tree{jinja::parse_template(text)});
  } catch (const Error& error) {
    fail("{}: invalid or unsupported template: {}", source_, error.what());
  }
}

JinjaTemplate::Rendered JinjaTemplate::render_marked(const Json& variables) const {
  const jinja::WorkLimit limit(kMaxTemplateWork);
  jinja::Evaluator evaluator(variables);
  try {
    evaluator.run(tree_->body);
  } catch (const Error& error) {
    fail("{}: line {}: {}", source_, evaluator.line(), error.what());
  }
  return {std::move(evaluator.text), std::move(evaluator.generated)};
}

}  // namespace attend
