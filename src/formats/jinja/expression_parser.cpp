#include "formats/jinja/expression_parser.h"

#include <cstdlib>

namespace attend::jinja {
namespace {

using ExpressionKind = Expression::Kind;
constexpr int kMaxExpressionDepth = 100;

template <class... Children>
Child make_expression(ExpressionKind kind, std::size_t line, std::string name, Children... children) {
  auto made = std::make_unique<Expression>(Expression{kind, line, std::move(name)});
  (made->children.push_back(std::move(children)), ...);
  return made;
}

Child make_constant(std::size_t line, Value value) {
  return std::make_unique<Expression>(Expression{ExpressionKind::constant, line, {}, std::move(value)});
}

Value number_of(const Token& token) {
  if (token.kind == Token::Kind::integer) {
    if (token.text.starts_with("0b")) {
      Integer number = 0;
      for (const char c : token.text.substr(2)) number = number * 2 + (c - '0');
      return number;
    }
    if (token.text.starts_with("0x")) return Integer(token.text);
    if (token.text.starts_with("0o")) return Integer("0" + token.text.substr(2));
    // Boost takes a leading zero for an octal number.
    const std::size_t first = std::min(token.text.find_first_not_of('0'), token.text.size() - 1);
    if (token.text.size() > 4300)
      fail("line {}: the number {}… is too large", token.line, token.text.substr(0, 20));
    return Integer(token.text.substr(first));
  }
  return std::strtod(token.text.c_str(), nullptr);
}

}  // namespace

Child ExpressionParser::expression(bool conditional) {
  if (!conditional) return either();
  Child value = either();
  while (tokens_.at_name("if")) {
    const std::size_t line = tokens_.next().line;
    Child condition = either();
    Child otherwise = tokens_.accept_name("else") ? expression() : nullptr;
    value = make_expression(ExpressionKind::conditional, line, {}, std::move(value), std::move(condition),
                            std::move(otherwise));
  }
  return value;
}

Child ExpressionParser::left_to_right(std::initializer_list<std::string_view> signs,
                                      Child (ExpressionParser::*operand)()) {
  Child left = (this->*operand)();
  for (int count = 0;;) {
    std::string_view found;
    for (const std::string_view sign : signs)
      if (tokens_.at_sign(sign) || tokens_.at_name(sign)) found = sign;
    if (found.empty()) return left;
    // The tree is as deep as the chain of operators is long.
    if (++count > 10 * kMaxExpressionDepth) fail("line {}: the expression is too long", tokens_.line());
    const std::size_t line = tokens_.next().line;
    left = make_expression(ExpressionKind::binary, line, std::string(found), std::move(left),
                           (this->*operand)());
  }
}

Child ExpressionParser::either() {
  return left_to_right({"or"}, &ExpressionParser::both);
}
Child ExpressionParser::both() {
  return left_to_right({"and"}, &ExpressionParser::negation);
}

Child ExpressionParser::negation() {
  if (!tokens_.at_name("not")) return comparison();
  if (++depth_ > kMaxExpressionDepth) fail("line {}: expressions are nested too deep", tokens_.line());
  const std::size_t line = tokens_.next().line;
  Child made = make_expression(ExpressionKind::unary, line, "not", negation());
  --depth_;
  return made;
}

Child ExpressionParser::comparison() {
  const std::size_t line = tokens_.line();
  Child first = sum();
  Child made;
  for (;;) {
    std::string found;
    for (const char* sign : {"==", "!=", "<", "<=", ">", ">="})
      if (tokens_.at_sign(sign)) found = sign;
    if (tokens_.at_name("in")) found = "in";
    if (tokens_.at_name("not") && tokens_.ahead().kind == Token::Kind::name && tokens_.ahead().text == "in") {
      tokens_.next();
      found = "not in";
    }
    if (found.empty()) return made ? std::move(made) : std::move(first);
    tokens_.next();
    if (!made) made = make_expression(ExpressionKind::comparison, line, {}, std::move(first));
    made->operators.push_back(std::move(found));
    made->children.push_back(sum());
  }
}

Child ExpressionParser::sum() {
  return left_to_right({"+", "-"}, &ExpressionParser::concatenation);
}
Child ExpressionParser::concatenation() {
  return left_to_right({"~"}, &ExpressionParser::product);
}
Child ExpressionParser::product() {
  return left_to_right({"*", "/", "//", "%"}, &ExpressionParser::power);
}

Child ExpressionParser::power() {
  Child left = unary();
  while (tokens_.at_sign("**")) {
    const std::size_t line = tokens_.next().line;
    left = make_expression(ExpressionKind::binary, line, "**", std::move(left), unary());
  }
  return left;
}

Child ExpressionParser::unary(bool with_filters) {
  if (++depth_ > kMaxExpressionDepth) fail("line {}: expressions are nested too deep", tokens_.line());
  const std::size_t line = tokens_.line();
  Child value;
  if (tokens_.accept_sign("-"))
    value = make_expression(ExpressionKind::unary, line, "-", unary(false));
  else if (tokens_.accept_sign("+"))
    value = make_expression(ExpressionKind::unary, line, "+", unary(false));
  else
    value = primary();
  value = postfix(std::move(value));
  if (with_filters) value = filters_and_tests(std::move(value));
  --depth_;
  return value;
}

Child ExpressionParser::primary() {
  const std::size_t line = tokens_.line();
  if (tokens_.at(Token::Kind::name)) {
    const std::string name = tokens_.next().text;
    if (name == "true" || name == "True") return make_constant(line, true);
    if (name == "false" || name == "False") return make_constant(line, false);
    if (name == "none" || name == "None") return make_constant(line, {});
    saw_varargs = saw_varargs || name == "varargs";
    saw_kwargs = saw_kwargs || name == "kwargs";
    saw_caller = saw_caller || name == "caller";
    return make_expression(ExpressionKind::name, line, name);
  }
  if (tokens_.at(Token::Kind::string)) {
    std::string text;
    while (tokens_.at(Token::Kind::string)) text += tokens_.next().text;
    return make_constant(line, std::move(text));
  }
  if (tokens_.at(Token::Kind::integer) || tokens_.at(Token::Kind::real))
    return make_constant(line, number_of(tokens_.next()));
  if (tokens_.accept_sign("(")) {
    Child inner = tokens_.at_sign(")") ? make_expression(ExpressionKind::tuple, line, {}) : tuple(true);
    tokens_.expect_sign(")");
    return inner;
  }
  if (tokens_.accept_sign("[")) return list();
  if (tokens_.accept_sign("{")) return dict();
  tokens_.wrong("an expression");
}

Child ExpressionParser::list() {
  Child made = make_expression(ExpressionKind::list, tokens_.line(), {});
  while (!tokens_.at_sign("]")) {
    made->children.push_back(expression());
    if (!tokens_.at_sign("]")) tokens_.expect_sign(",");
  }
  tokens_.next();
  return made;
}

Child ExpressionParser::dict() {
  Child made = make_expression(ExpressionKind::dict, tokens_.line(), {});
  while (!tokens_.at_sign("}")) {
    made->children.push_back(expression());
    tokens_.expect_sign(":");
    made->children.push_back(expression());
    if (!tokens_.at_sign("}")) tokens_.expect_sign(",");
  }
  tokens_.next();
  return made;
}

bool ExpressionParser::at_end_of_tuple(std::string_view end) const {
  return tokens_.at(Token::Kind::block_end) || tokens_.at(Token::Kind::output_end) || tokens_.at_sign(")") ||
         (!end.empty() && tokens_.at_name(end));
}

Child ExpressionParser::tuple(bool conditional, std::string_view end) {
  const std::size_t line = tokens_.line();
  Child first = expression(conditional);
  if (!tokens_.at_sign(",")) return first;
  Child made = make_expression(ExpressionKind::tuple, line, {}, std::move(first));
  while (tokens_.accept_sign(",") && !at_end_of_tuple(end)) made->children.push_back(expression(conditional));
  return made;
}

Child ExpressionParser::target(std::string_view end) {
  const auto one = [&]() -> Child {
    const std::size_t line = tokens_.line();
    if (tokens_.accept_sign("(")) {
      if (++depth_ > kMaxExpressionDepth) fail("line {}: expressions are nested too deep", line);
      Child inner = target();
      --depth_;
      tokens_.expect_sign(")");
      return inner;
    }
    Child name = make_expression(ExpressionKind::name, line, tokens_.name());
    if (!tokens_.accept_sign(".")) return name;
    return make_expression(ExpressionKind::attribute, line, tokens_.name(), std::move(name));
  };
  const std::size_t line = tokens_.line();
  Child first = one();
  if (!tokens_.at_sign(",")) return first;
  Child made = make_expression(ExpressionKind::tuple, line, {}, std::move(first));
  while (tokens_.accept_sign(",") && !at_end_of_tuple(end) && !tokens_.at_sign("="))
    made->children.push_back(one());
  return made;
}

Child ExpressionParser::postfix(Child value) {
  for (int count = 0;; ++count) {
    if (count > kMaxExpressionDepth) fail("line {}: the expression is too long", tokens_.line());
    if (tokens_.at_sign(".") || tokens_.at_sign("["))
      value = subscript(std::move(value));
    else if (tokens_.at_sign("(")) {
      Child call = make_expression(ExpressionKind::call, tokens_.line(), {}, std::move(value));
      call->arguments = arguments();
      value = std::move(call);
    } else
      return value;
  }
}

Child ExpressionParser::filters_and_tests(Child value) {
  for (int count = 0;; ++count) {
    if (count > kMaxExpressionDepth) fail("line {}: the expression is too long", tokens_.line());
    if (tokens_.accept_sign("|"))
      value = filter(std::move(value));
    else if (tokens_.accept_name("is"))
      value = test(std::move(value));
    else if (tokens_.at_sign("("))
      value = postfix(std::move(value));
    else
      return value;
  }
}

Child ExpressionParser::filter(Child value) {
  const std::size_t line = tokens_.line();
  std::string name = tokens_.name();
  while (tokens_.accept_sign(".")) name += "." + tokens_.name();
  Child made = make_expression(ExpressionKind::filter, line, std::move(name), std::move(value));
  if (tokens_.at_sign("(")) made->arguments = arguments();
  return made;
}

Child ExpressionParser::filters(Child value) {
  do value = filter(std::move(value));
  while (tokens_.accept_sign("|"));
  return value;
}

Child ExpressionParser::test(Child value) {
  const std::size_t line = tokens_.line();
  const bool turned = tokens_.accept_name("not");
  std::string name = tokens_.name();
  while (tokens_.accept_sign(".")) name += "." + tokens_.name();
  Child made = make_expression(ExpressionKind::test, line, std::move(name), std::move(value));
  const auto at_value = [&] {
    if (tokens_.at_name_of({"else", "or", "and"})) return false;
    for (const auto kind : {Token::Kind::name, Token::Kind::string, Token::Kind::integer, Token::Kind::real})
      if (tokens_.at(kind)) return true;
    return tokens_.at_sign("[") || tokens_.at_sign("{");
  };
  if (tokens_.at_sign("(")) {
    made->arguments = arguments();
  } else if (at_value()) {
    if (tokens_.at_name("is")) fail("line {}: expected one test, found two in a row", line);
    made->arguments.push_back({Given::Kind::value, {}, postfix(primary())});
  }
  return turned ? make_expression(ExpressionKind::unary, line, "not", std::move(made)) : std::move(made);
}

Child ExpressionParser::subscript(Child value) {
  const std::size_t line = tokens_.line();
  if (tokens_.accept_sign(".")) {
    if (tokens_.at(Token::Kind::integer))
      return make_expression(ExpressionKind::item, line, {}, std::move(value),
                             make_constant(line, number_of(tokens_.next())));
    return make_expression(ExpressionKind::attribute, line, tokens_.name(), std::move(value));
  }
  tokens_.next();
  Child made = slice_or_item(std::move(value));
  tokens_.expect_sign("]");
  return made;
}

Child ExpressionParser::slice_or_item(Child value) {
  const std::size_t line = tokens_.line();
  Child first = tokens_.at_sign(":") ? nullptr : expression();
  if (!tokens_.at_sign(":")) {
    if (tokens_.at_sign(",")) fail("line {}: expected one index, found several", line);
    return make_expression(ExpressionKind::item, line, {}, std::move(value), std::move(first));
  }
  Child parts[2];
  for (Child& part : parts)
    if (tokens_.accept_sign(":") && !tokens_.at_sign(":") && !tokens_.at_sign("]")) part = expression();
  return make_expression(ExpressionKind::slice, line, {}, std::move(value), std::move(first),
                         std::move(parts[0]), std::move(parts[1]));
}

std::vector<Given> ExpressionParser::arguments() {
  std::vector<Given> given;
  tokens_.expect_sign("(");
  while (!tokens_.at_sign(")")) {
    if (tokens_.accept_sign("*")) {
      given.push_back({Given::Kind::list, {}, expression()});
    } else if (tokens_.accept_sign("**")) {
      given.push_back({Given::Kind::dict, {}, expression()});
    } else if (tokens_.at(Token::Kind::name) && tokens_.ahead().kind == Token::Kind::sign &&
               tokens_.ahead().text == "=") {
      std::string name = tokens_.name();
      tokens_.next();
      given.push_back({Given::Kind::named, std::move(name), expression()});
    } else {
      if (!given.empty() && given.back().kind == Given::Kind::named)
        fail("line {}: expected unnamed arguments before named ones", tokens_.line());
      given.push_back({Given::Kind::value, {}, expression()});
    }
    if (!tokens_.at_sign(")")) tokens_.expect_sign(",");
  }
  tokens_.next();
  return given;
}

std::vector<Parameter> ExpressionParser::parameters() {
  std::vector<Parameter> parameters;
  tokens_.expect_sign("(");
  while (!tokens_.at_sign(")")) {
    Parameter parameter{tokens_.name(), nullptr};
    if (tokens_.accept_sign("="))
      parameter.otherwise = expression();
    else if (!parameters.empty() && parameters.back().otherwise)
      fail("line {}: expected parameters without a default before those with a default", tokens_.line());
    parameters.push_back(std::move(parameter));
    if (!tokens_.at_sign(")")) tokens_.expect_sign(",");
  }
  tokens_.next();
  return parameters;
}

}  // namespace attend::jinja
