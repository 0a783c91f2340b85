#include "formats/jinja.h"

#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::string render(const std::string& text, const Json& variables = Json::object()) {
  return JinjaTemplate(text, "template").render(variables);
}

std::string refusal(const std::string& text, const Json& variables = Json::object()) {
  return error_of([&] { render(text, variables); });
}

const Json kMessages = {
    {"messages", {{{"role", "user"}, {"content", " hi "}}, {{"role", "assistant"}, {"content", "ho"}}}},
    {"eos_token", "</s>"}};

// What jinja2 3.1.6 gives, with trim_blocks and lstrip_blocks.
TEST(Jinja, TakesBlocksOutOfTheirLines) {
  EXPECT_EQ(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(render("a {% if true %} b {% endif %} c"), "a  b  c");
  EXPECT_EQ(render("a  {{- 'x' -}}\n\n  b"), "axb");
  EXPECT_EQ(render("a {# {{ x }} #}\nb"), "a b");
  EXPECT_EQ(render("{{ 'x' }}\n\n"), "x\n");
  EXPECT_EQ(render("{ {{ '}}' }} }{"), "{ }} }{");
}

TEST(Jinja, LoopsOverMessages) {
  EXPECT_EQ(render("{% for m in messages %}{{ loop.index0 }}{{ m['role'] + ':' + m.content }}"
                   "{% if not loop.last %}, {% else %}{{ eos_token }}{% endif %}{% endfor %}",
                   kMessages),
            "0user: hi , 1assistant:ho</s>");
  EXPECT_EQ(
      render("{% set x = 1 %}{% for m in messages[1:] %}{% set x = 2 %}{{ x ~ m.role }}{% endfor %}{{ x }}",
             kMessages),
      "2assistant1");
}

TEST(Jinja, ReadsExpressionsAsPythonDoes) {
  EXPECT_EQ(render("{{ messages[0].content | trim ~ messages[-1]['content'] }}", kMessages), "hiho");
  EXPECT_EQ(render("{{ 1 + 2 == 3 and not 3 % 2 == 0 }}"), "True");
  EXPECT_EQ(render("{{ (true) != (false) }}{{ 'a' in 'abc' }}{{ 'x' not in messages[0] }}", kMessages),
            "TrueTrueTrue");
  EXPECT_EQ(
      render("{{ nothing is defined }}{{ nothing }}{{ nothing or 'else' }}{{ 'a' if nothing else 'b' }}"),
      "Falseelseb");
  EXPECT_EQ(render("{{ ' x\\n'.strip() }}{{ 'user'.startswith('us') }}"), "xTrue");
  EXPECT_EQ(render("{% if false %}1{% elif 0 %}2{% elif '' %}3{% else %}4{% endif %}"), "4");
}

TEST(Jinja, SaysWhatItCannotRead) {
  EXPECT_EQ(refusal("{% macro a() %}{% endmacro %}"),
            "template: a template that attend cannot read: the statement {% macro a() %}");
  EXPECT_EQ(refusal("{{ x | tojson }}"), "template: the filter 'tojson'");
  EXPECT_EQ(refusal("{% if true %}x"),
            "template: a template that attend cannot read: expected {% endif %}, found the end");
  EXPECT_EQ(
      refusal("{{ x"),
      "template: a template that attend cannot read: expected }} behind a tag, found the template's end");
  EXPECT_EQ(refusal("{{ raise_exception('no ' + 'system') }}"),
            "template: the template refuses this conversation: no system");
  EXPECT_EQ(refusal("{% endif %}"),
            "template: a template that attend cannot read: {% endif %} ends what has not begun");
  EXPECT_EQ(refusal("{{ 'a' + 1 }}"), "template: expected a number, found \"a\"");
}

TEST(Jinja, EndsWhatIsNestedTooDeepOrNeverEnds) {
  EXPECT_NE(refusal("{{ " + std::string(10'000, '(') + " }}").find("within each other"), std::string::npos);
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) blocks += "{% if true %}";
  EXPECT_NE(refusal(blocks).find("within each other"), std::string::npos);
  std::string loops;
  for (int i = 0; i < 16; ++i) loops += "{% for m" + std::to_string(i) + " in messages %}";
  for (int i = 0; i < 16; ++i) loops += "{% endfor %}";
  EXPECT_NE(refusal(loops, kMessages).find("steps"), std::string::npos);
}

}  // namespace
}  // namespace attend
