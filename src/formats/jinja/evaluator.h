// Evaluates a template's tree.
#pragma once

#include "formats/jinja/tree.h"

#include <unordered_map>

namespace attend::jinja {

// The variables of a block; others are looked up in the enclosing block.
struct Scope {
  Scope* parent = nullptr;
  std::unordered_map<std::string, Value> values = {};
  bool kept = false;  // a macro may still read it after the end of the block

  const Value* find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent)
      if (const auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
    return nullptr;
  }
};

// The only value that a template can change.
class Namespace : public Object {
 public:
  std::string type() const override { return "Namespace"; }
  std::optional<Value> attribute(const std::string& name) const override {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }

  std::unordered_map<std::string, Value> values;
};

class Evaluator {
 public:
  enum class Flow { goes_on, breaks, continues };

  explicit Evaluator(const Json& variables);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  void run(const Body& body);
  std::string text;                                            // the output
  std::vector<std::pair<std::size_t, std::size_t>> generated;  // begin and end of {% generation %} in it
  std::size_t line() const { return line_; }                   // of the latest statement

  // Called by macros, loops and namespaces.
  Value call_macro(const Statement& macro, Scope& around, const Arguments& arguments);
  std::string run_loop_again(const Statement& loop, Scope& around, const Value& items, std::int64_t depth);
  std::shared_ptr<Object> make_namespace(const Dict& values);

 private:
  Value evaluate(const Expression& expression, Scope& scope);
  Value evaluate_by_kind(const Expression& expression, Scope& scope);
  Value binary(const Expression& expression, Scope& scope);
  Value comparison(const Expression& expression, Scope& scope);
  // `caller`: of a call block, or null.
  Value call(const Expression& expression, Scope& scope, const std::shared_ptr<Object>& caller);
  Value optional(const Child& child, Scope& scope);
  List evaluate_all(const Expression& expression, Scope& scope);
  Value dict(const Expression& expression, Scope& scope);
  Arguments arguments(const std::vector<Given>& given, Scope& scope);
  Value filters(const Expression& expression, const Value& value, Scope& scope);

  Flow run(const Body& body, Scope& scope);
  Flow run(const Statement& statement, Scope& scope);
  Flow run_by_kind(const Statement& statement, Scope& scope);
  Flow condition(const Statement& statement, Scope& scope);
  void loop(const Statement& statement, Scope& scope, const Value& items, std::int64_t depth);
  void assign(const Expression& target, const Value& value, Scope& scope);
  void set(const Statement& statement, Scope& scope);
  void write(const std::string& more);
  // The output of the body, in its own scope.
  std::string captured(const Body& body, Scope& scope);
  // Opens the scope of a block, until `leave`.
  Scope& enter(Scope& around);
  void leave(Scope& scope);
  std::shared_ptr<Object> macro(const Statement& statement, Scope& scope);

  Scope globals_;
  std::vector<std::unique_ptr<Scope>> open_;
  std::vector<std::unique_ptr<Scope>> kept_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;  // they may refer to each other
  std::size_t line_ = 1;
  int depth_ = 0, captures_ = 0;
};

}  // namespace attend::jinja
