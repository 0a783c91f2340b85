// The syntax tree of a template.
#pragma once

#include "formats/jinja/value.h"

#include <memory>
#include <string>
#include <vector>

namespace attend::jinja {

struct Expression;
using Child = std::unique_ptr<Expression>;

struct Given {                                        // an argument of a call, a filter or a test
  enum class Kind { value, named, list, dict } kind;  // x, a=x, *x, **x
  std::string name;
  Child value;
};

struct Expression {
  enum class Kind {
    constant,     // value
    name,         // name
    list,         // children
    tuple,        // children
    dict,         // children: key, value, key, value
    attribute,    // children[0].name
    item,         // children[0][children[1]]
    slice,        // children[0][children[1]:children[2]:children[3]], where a child may be null
    call,         // children[0](arguments)
    filter,       // children[0] | name(arguments); without children[0] in a filter block
    test,         // children[0] is name(arguments)
    unary,        // name: not, -, +
    binary,       // name: + - * / // % ** ~ and or
    comparison,   // children[0] operators[0] children[1] operators[1] ...
    conditional,  // children[0] if children[1] else children[2], which may be null
  };
  Kind kind;
  std::size_t line;
  std::string name = {};
  Value value = {};
  std::vector<Child> children = {};
  std::vector<Given> arguments = {};
  std::vector<std::string> operators = {};
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Branch {
  Child condition;  // null: else
  Body body;
};

struct Parameter {
  std::string name;
  Child otherwise;  // null: none
};

struct Statement {
  enum class Kind {
    text,        // name
    output,      // expression
    set,         // target = expression, or target = body as text, filtered by condition
    condition,   // branches
    loop,        // for target in expression if condition: body, else otherwise
    macro,       // name(parameters): body
    call,        // {% call(parameters) expression %} body
    filter,      // body, filtered by expression
    with,        // assignments; body
    scope,       // body in its own scope: {% block %}
    generation,  // body, which is the assistant's text
    stop,        // name: break or continue
  };
  Kind kind;
  std::size_t line;
  std::string name = {};
  Child target = {}, expression = {}, condition = {};
  Body body = {}, otherwise = {};
  std::vector<Branch> branches = {};
  std::vector<Parameter> parameters = {};
  std::vector<std::pair<Child, Child>> assignments = {};
  bool recursive = false;
  bool takes_more = false, takes_more_named = false;  // the macro uses varargs, kwargs
  bool uses_caller = false;
};

}  // namespace attend::jinja
