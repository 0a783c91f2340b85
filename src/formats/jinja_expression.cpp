#include "formats/jinja_expression.h"

#include "base/error.h"
#include "base/python_text.h"

#include <algorithm>

namespace attend::jinja {
namespace {

constexpr int kDeepest = 50;

bool is_name_byte(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string read_string(std::string_view text, std::size_t& at) {
  const char quote = text[at++];
  std::string result;
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      result += text[at];
      continue;
    }
    switch (text[++at]) {
      case 'n':
        result += '\n';
        break;
      case 't':
        result += '\t';
        break;
      case 'r':
        result += '\r';
        break;
      case '\\':
      case '\'':
      case '"':
        result += text[at];
        break;
      default:
        fail("the escape \\{}", text[at]);
    }
  }
  if (at == text.size()) fail("a text that is never closed");
  ++at;
  return result;
}

std::string_view strip_front(std::string_view text) {
  // All of Python's white space that templates have; strip_end knows the rest.
  const std::size_t first = text.find_first_not_of(" \t\n\r\f\v");
  return first == text.npos ? std::string_view() : text.substr(first);
}

// Reads and evaluates at once, by recursive descent. What `and`, `or` and `if` pass over is evaluated too:
// nothing has a side effect but raise_exception, which templates call alone.
class Evaluator {
 public:
  Evaluator(const std::vector<Token>& tokens, std::size_t at, const Json& variables)
      : tokens_(tokens), at_(at), variables_(variables) {}

  Json whole() {
    Json value = conditional();
    if (peek().kind != Token::Kind::end) unknown();
    return value;
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  [[noreturn]] void unknown() const {
    fail("expected an expression, found {}",
         peek().kind == Token::Kind::end ? "its end" : "'" + peek().text + "'");
  }
  bool next_is(std::string_view text) const {
    return (peek().kind == Token::Kind::sign || peek().kind == Token::Kind::name) && peek().text == text;
  }
  bool accept(std::string_view text) {
    if (!next_is(text)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail("expected '{}', found '{}'", text, peek().text);
  }
  std::string name() {
    if (peek().kind != Token::Kind::name) unknown();
    return tokens_[at_++].text;
  }

  Json conditional() {
    if (++depth_ > kDeepest) fail("more than {} expressions within each other", kDeepest);
    Json value = either();
    if (accept("if")) {
      const bool holds = is_true(either());
      Json otherwise = accept("else") ? conditional() : Json();
      if (!holds) value = std::move(otherwise);
    }
    --depth_;
    return value;
  }

  Json either() {
    Json value = both();
    while (accept("or")) {
      Json other = both();
      if (!is_true(value)) value = std::move(other);
    }
    return value;
  }

  Json both() {
    Json value = negation();
    while (accept("and")) {
      Json other = negation();
      if (is_true(value)) value = std::move(other);
    }
    return value;
  }

  Json negation() {
    bool turned = false, any = false;
    for (; accept("not"); any = true) turned = !turned;
    Json value = comparison();
    return any ? Json(is_true(value) != turned) : value;
  }

  Json comparison() {
    Json value = sum();
    for (;;) {
      if (accept("==")) {
        value = value == sum();
      } else if (accept("!=")) {
        value = value != sum();
      } else if (accept("in")) {
        value = contains(sum(), value);
      } else if (next_is("not") && tokens_[at_ + 1].text == "in") {
        at_ += 2;
        value = !contains(sum(), value);
      } else if (accept("is")) {
        const bool turned = accept("not");
        value = test(value) != turned;
      } else if (peek().kind == Token::Kind::sign &&
                 (next_is("<") || next_is(">") || next_is("<=") || next_is(">="))) {
        const std::string sign = tokens_[at_++].text;
        const std::int64_t left = integer(value), right = integer(sum());
        value = sign == "<"    ? left < right
                : sign == ">"  ? left > right
                : sign == "<=" ? left <= right
                               : left >= right;
      } else {
        return value;
      }
    }
  }

  Json sum() {
    Json value = remainder();
    for (;;) {
      if (accept("+")) {
        const Json other = remainder();
        if (value.is_string() && other.is_string())
          value = value.get<std::string>() + other.get<std::string>();
        else
          value = integer(value) + integer(other);
      } else if (accept("-")) {
        value = integer(value) - integer(remainder());
      } else if (accept("~")) {
        value = written(value) + written(remainder());
      } else {
        return value;
      }
    }
  }

  Json remainder() {
    Json value = part();
    while (accept("%")) {
      const std::int64_t divisor = integer(part());
      if (divisor <= 0) fail("a remainder by {}", divisor);
      const std::int64_t rest = integer(value) % divisor;
      value = rest < 0 ? rest + divisor : rest;
    }
    return value;
  }

  // A value with what is taken of it: .name, [index], [first:], .strip(), | trim.
  Json part() {
    Json value = single();
    for (;;) {
      if (accept(".")) {
        const std::string member = name();
        value = accept("(") ? method(value, member) : member_of(value, member);
      } else if (accept("[")) {
        value = index(value);
      } else if (accept("|")) {
        const std::string filter = name();
        if (filter == "trim")
          value = method_of_text(value, "strip");
        else if (filter == "length")
          value = value.is_string() ? Json(value.get<std::string>().size()) : Json(value.size());
        else
          fail("the filter '{}'", filter);
      } else {
        return value;
      }
    }
  }

  Json single() {
    const Token token = peek();
    if (token.kind == Token::Kind::string || token.kind == Token::Kind::integer) {
      ++at_;
      if (token.kind == Token::Kind::integer) return std::stoll(token.text);
      return token.text;
    }
    if (accept("-")) return -integer(part());
    if (accept("(")) {
      Json value = conditional();
      expect(")");
      return value;
    }
    const std::string name = this->name();
    if (name == "true" || name == "True") return true;
    if (name == "false" || name == "False") return false;
    if (accept("(")) {
      if (name != "raise_exception") fail("the function '{}'", name);
      const Json reason = conditional();
      expect(")");
      fail("the template refuses this conversation: {}", written(reason));
    }
    return member_of(variables_, name);
  }

  static Json member_of(const Json& value, const std::string& name) {
    return value.is_object() && value.contains(name) ? value.at(name) : Json();
  }

  // Behind "[".
  Json index(const Json& value) {
    const Json first = next_is(":") ? Json(0) : conditional();
    if (accept(":")) {
      const Json last = next_is("]") ? Json() : conditional();
      expect("]");
      if (!value.is_array()) fail("a part [ : ] of what is no list");
      const auto size = static_cast<std::int64_t>(value.size());
      const auto place = [&](std::int64_t i) {
        return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
      };
      const std::int64_t begin = place(integer(first)), end = last.is_null() ? size : place(integer(last));
      Json part = Json::array();
      for (std::int64_t i = begin; i < end; ++i) part.push_back(value[static_cast<std::size_t>(i)]);
      return part;
    }
    expect("]");
    if (first.is_string()) return member_of(value, first.get<std::string>());
    if (!value.is_array()) return {};
    const auto size = static_cast<std::int64_t>(value.size());
    const std::int64_t i = integer(first) < 0 ? integer(first) + size : integer(first);
    return i >= 0 && i < size ? value[static_cast<std::size_t>(i)] : Json();
  }

  // Behind "(".
  Json method(const Json& value, const std::string& name) {
    if (name == "startswith" || name == "endswith") {
      const std::string text = value.is_string() ? value.get<std::string>() : "",
                        other = written(conditional());
      expect(")");
      return name == "startswith" ? text.starts_with(other) : text.ends_with(other);
    }
    expect(")");
    return method_of_text(value, name);
  }

  static Json method_of_text(const Json& value, const std::string& name) {
    if (!value.is_string()) fail("{}() of what is no text", name);
    const std::string& text = value.get_ref<const std::string&>();
    if (name == "strip") return std::string(strip_end(strip_front(text)));
    if (name == "lstrip") return std::string(strip_front(text));
    if (name == "rstrip") return std::string(strip_end(text));
    fail("the method {}()", name);
  }

  bool test(const Json& value) {
    const std::string kind = name();
    if (kind == "defined") return !value.is_null();
    if (kind == "undefined" || kind == "none") return value.is_null();
    if (kind == "string") return value.is_string();
    if (kind == "mapping") return value.is_object();
    fail("the test 'is {}'", kind);
  }

  static bool contains(const Json& whole, const Json& value) {
    if (whole.is_string())
      return value.is_string() &&
             whole.get<std::string>().find(value.get<std::string>()) != std::string::npos;
    if (whole.is_object()) return value.is_string() && whole.contains(value.get<std::string>());
    return std::ranges::find(whole, value) != whole.end();
  }

  static std::int64_t integer(const Json& value) {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (!value.is_number_integer()) fail("expected a number, found {}", shown(value));
    return value.get<std::int64_t>();
  }

  const std::vector<Token>& tokens_;
  std::size_t at_;
  const Json& variables_;
  int depth_ = 0;
};

}  // namespace

std::vector<Token> split_tokens(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
    } else if (c == '\'' || c == '"') {
      tokens.push_back({Token::Kind::string, read_string(text, at)});
    } else if (is_name_byte(c)) {
      const std::size_t begin = at;
      while (at < text.size() && is_name_byte(text[at])) ++at;
      const std::string word(text.substr(begin, at - begin));
      const bool digits = word.find_first_not_of("0123456789") == word.npos;
      if (digits && word.size() > 9) fail("the number {}", word);
      tokens.push_back({digits ? Token::Kind::integer : Token::Kind::name, word});
    } else {
      const std::string_view pair = text.substr(at, 2);
      const bool two = pair == "==" || pair == "!=" || pair == "<=" || pair == ">=";
      if (!two && std::string_view("+-~%.|()[]:<>=,").find(c) == std::string_view::npos) fail("'{}'", c);
      tokens.push_back({Token::Kind::sign, std::string(text.substr(at, two ? 2 : 1))});
      at += two ? 2 : 1;
    }
  }
  tokens.push_back({});
  return tokens;
}

Json evaluate(const std::vector<Token>& tokens, std::size_t at, const Json& variables) {
  return Evaluator(tokens, at, variables).whole();
}

bool is_true(const Json& value) {
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value != 0;
  return value.is_string() ? !value.get_ref<const std::string&>().empty() : !value.empty();
}

std::string written(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  fail("text of {}", shown(value));
}

}  // namespace attend::jinja
