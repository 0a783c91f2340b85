#include "formats/jinja/jinja.h"

#include "expect_error.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::string render(const std::string& text, const Json& variables = Json::object()) {
  return JinjaTemplate(text, "template").render(variables);
}

std::string refusal(const std::string& text, const Json& variables = Json::object()) {
  return error_of([&] { render(text, variables); });
}

// Compares with jinja2 on templates that use all features of models' templates:
// tests/oracle/make_chat_goldens.py.
TEST(Jinja, RendersAsJinja2Does) {
  const Json goldens = read_json(test_data() / "chat_snippets.json");
  for (const Json& each : goldens["cases"]) {
    const std::string text = each["template"];
    if (each["text"].is_null())
      EXPECT_NE(refusal(text, goldens["variables"]), "") << text;
    else
      EXPECT_EQ(render(text, goldens["variables"]), each["text"]) << text;
  }
}

TEST(Jinja, NamesThePlaceOfAnError) {
  const std::string cannot = "template: invalid or unsupported template: ";
  EXPECT_EQ(refusal("a\n{% if true %}x"), cannot + "line 2: expected {% endif %}, found the template's end");
  EXPECT_EQ(refusal("\n\n{{ x"), cannot + "line 3: expected '}}', found the template's end");
  EXPECT_EQ(refusal("{% endif %}"), cannot + "line 1: expected a statement, found 'endif'");
  EXPECT_EQ(refusal("{% do x %}"), cannot + "line 1: expected a statement, found 'do'");
  EXPECT_EQ(refusal("{% include 'x' %}"), cannot +
                                              "line 1: expected a template in one file, found {% include %}, "
                                              "which reads another file");
  EXPECT_EQ(refusal("\n{{ x | nothing }}"), "template: line 2: there is no filter 'nothing'");
  EXPECT_EQ(refusal("\n{{ x is odder }}"), "template: line 2: there is no test 'odder'");
  EXPECT_EQ(refusal("{{ m.x.y }}", {{"m", Json::object()}}),
            "template: line 1: 'dict object' has no attribute 'x'");
  EXPECT_EQ(refusal("{{ 'a' + 1 }}"), "template: line 1: can only concatenate str (not \"int\") to str");
  EXPECT_EQ(refusal("{{ raise_exception('no ' + 'system') }}"),
            "template: line 1: the template refuses this conversation: no system");
  EXPECT_EQ(refusal("{{ '\xff' }}"), "template: not valid UTF-8 at byte 4");
}

// As jinja2 refuses them.
TEST(Jinja, RefusesArgumentsOfTheWrongKind) {
  for (const char* text : {"{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
                           "{% macro m(caller) %}{{ caller }}{% endmacro %}", "{{ 'abc'.startswith(['a']) }}",
                           "{{ {'b': 1} | dictsort(by='x') }}"})
    EXPECT_NE(refusal(text), "") << text;
  EXPECT_EQ(render("{% macro m() %}{{ kwargs | length }}{% endmacro %}{% call m() %}y{% endcall %}"), "1");
  EXPECT_EQ(render("{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}y{% endcall %}"), "y");
  EXPECT_EQ(render("{{ {}.fromkeys(['a', 'b', 'a'], 1) }}"), "{'a': 1, 'b': 1}");
}

TEST(Jinja, KnowsWhatIsGenerated) {
  const auto rendered =
      JinjaTemplate("é{% generation %}ab{% endgeneration %}c{% generation %}d{% endgeneration %}", "t")
          .render_marked(Json::object());
  EXPECT_EQ(rendered.text, "éabcd");
  EXPECT_EQ(rendered.generated, (std::vector<std::pair<std::size_t, std::size_t>>{{2, 4}, {5, 6}}));
}

TEST(Jinja, HasTheDate) {
  const std::string year = render("{{ strftime_now('%Y') }}");
  EXPECT_EQ(year.size(), 4U);
  EXPECT_EQ(render("{{ strftime_now('%Y-%m-%d')[:4] }}"), year);
}

TEST(Jinja, LimitsDepthAndSteps) {
  const auto fails_with = [](const std::string& text, const char* why) {
    EXPECT_NE(refusal(text).find(why), std::string::npos) << refusal(text) << " for " << text.substr(0, 80);
  };
  fails_with("{{ " + std::string(10'000, '(') + "1" + std::string(10'000, ')') + " }}", "too deep");
  fails_with("{{ " + std::string(10'000, '[') + std::string(10'000, ']') + " }}", "too deep");
  std::string many_not = "{{ ", long_sum = "{{ 1", blocks, loops;
  for (int i = 0; i < 10'000; ++i) {
    many_not += "not ";
    long_sum += "+1";
    blocks += "{% if true %}";
  }
  for (int i = 0; i < 16; ++i) loops += "{% for x" + std::to_string(i) + " in range(100) %}";
  for (int i = 0; i < 16; ++i) loops += "{% endfor %}";
  fails_with(many_not + "1 }}", "too deep");
  fails_with(long_sum + " }}", "too long");
  fails_with(blocks, "too deep");
  fails_with(loops, "too long");
  fails_with("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "deeper than");
  fails_with("{{ 'abc' * 1000000000 }}", "makes a text or list with more than");
  fails_with("{{ 'x'.center(1000000000) }}{{ '%999999999d' % 1 }}", "makes a text or list with more than");
  fails_with("{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
             "makes a text or list with more than");
  fails_with("{% set n = namespace(x=0) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% endfor %}",
             "deeper than");
  fails_with("{{ range(100000) | unique | list }}", "too long");
  EXPECT_EQ(
      render(
          "{% set n = namespace(x=0) %}{% for i in range(9999) %}{% set n.x = namespace(y=n.x) %}{% endfor %}"
          "{% set n.self = n %}{% macro f() %}{% endmacro %}{% set n.f = f %}."),
      ".");
}

}  // namespace
}  // namespace attend
