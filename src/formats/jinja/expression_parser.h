// Parses the expressions of a template.
#pragma once

#include "formats/jinja/token_stream.h"
#include "formats/jinja/tree.h"

namespace attend::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  // `conditional`: whether "x if y else z" is allowed.
  Child expression(bool conditional = true);
  // Expressions with commas between them are a tuple. `end`: a name that ends it.
  Child tuple(bool conditional, std::string_view end = {});
  // The target of an assignment: a name, names with commas between them, or an attribute of a namespace.
  Child target(std::string_view end = {});
  // The filters of a block: name(...) | name(...).
  Child filters(Child value);
  std::vector<Parameter> parameters();

  // Whether an expression so far uses a macro's varargs or kwargs.
  bool saw_varargs = false, saw_kwargs = false, saw_caller = false;

 private:
  Child either();
  Child both();
  Child negation();
  Child comparison();
  Child sum();
  Child concatenation();
  Child product();
  Child power();
  Child unary(bool with_filters = true);
  Child primary();
  Child postfix(Child value);
  Child filters_and_tests(Child value);
  Child filter(Child value);
  Child test(Child value);
  Child subscript(Child value);
  Child slice_or_item(Child value);
  Child list();
  Child dict();
  std::vector<Given> arguments();
  Child left_to_right(std::initializer_list<std::string_view> signs, Child (ExpressionParser::*operand)());
  bool at_end_of_tuple(std::string_view end) const;

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace attend::jinja
