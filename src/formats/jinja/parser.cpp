#include "formats/jinja/parser.h"

#include "formats/jinja/expression_parser.h"

namespace attend::jinja {
namespace {

using StatementKind = Statement::Kind;
constexpr int kMaxBlockDepth = 50;

class StatementParser {
 public:
  explicit StatementParser(std::string_view text) : tokens_(split_template(text)) {}

  Body whole() {
    Body body = statements({});
    if (!tokens_.at(Token::Kind::end)) tokens_.wrong("a statement");
    return body;
  }

 private:
  using Names = std::initializer_list<std::string_view>;
  using Made = std::unique_ptr<Statement>;

  Made make(StatementKind kind, std::string name = {}) const {
    return std::make_unique<Statement>(Statement{kind, tokens_.line(), std::move(name)});
  }

  // Parses up to a statement with one of these names, including its name.
  Body statements(Names ends) {
    if (++depth_ > kMaxBlockDepth) fail("line {}: blocks are nested too deep", tokens_.line());
    Body body;
    while (!tokens_.at(Token::Kind::end)) {
      if (tokens_.at(Token::Kind::data)) {
        body.push_back(make(StatementKind::text, tokens_.peek().text));
        tokens_.next();
      } else if (tokens_.at(Token::Kind::output_begin)) {
        tokens_.next();
        body.push_back(make(StatementKind::output));
        body.back()->expression = expressions_.tuple(true);
        tokens_.expect(Token::Kind::output_end, "'}}'");
      } else {
        tokens_.expect(Token::Kind::block_begin, "a statement");
        if (tokens_.at_name_of(ends)) break;
        body.push_back(statement());
        tokens_.expect(Token::Kind::block_end, "'%}'");
      }
    }
    --depth_;
    return body;
  }

  // The body of a block after its opening tag, up to the closing name.
  Body block(std::string_view end) {
    tokens_.expect(Token::Kind::block_end, "'%}'");
    Body body = statements({end});
    if (!tokens_.accept_name(end)) tokens_.wrong(fmt::format("{{% {} %}}", end));
    return body;
  }

  Made statement() {
    const std::string word = tokens_.name();
    if (word == "if") return condition();
    if (word == "for") return loop();
    if (word == "set") return assignment();
    if (word == "macro") return macro();
    if (word == "call") return call();
    if (word == "with") return with();
    if (word == "filter") {
      Made made = make(StatementKind::filter);
      made->expression = expressions_.filters(nullptr);
      made->body = block("endfilter");
      return made;
    }
    if (word == "block") {
      Made made = make(StatementKind::scope, tokens_.name());
      for (const char* more : {"scoped", "required"}) tokens_.accept_name(more);
      made->body = block("endblock");
      tokens_.accept_name(made->name);
      return made;
    }
    if (word == "generation") {
      Made made = make(StatementKind::generation);
      made->body = block("endgeneration");
      return made;
    }
    if (word == "break" || word == "continue") {
      if (loops_ == 0) fail("line {}: {{% {} %}} outside of a loop", tokens_.line(), word);
      return make(StatementKind::stop, word);
    }
    for (const char* name : {"include", "import", "from", "extends"})
      if (word == name)
        fail("line {}: expected a template in one file, found {{% {} %}}, which reads another file",
             tokens_.line(), word);
    fail("line {}: expected a statement, found '{}'", tokens_.line(), word);
  }

  Made condition() {
    Made made = make(StatementKind::condition);
    for (bool last = false; !last;) {
      Branch& branch = made->branches.emplace_back();
      branch.condition = expressions_.tuple(false);
      tokens_.expect(Token::Kind::block_end, "'%}'");
      branch.body = statements({"elif", "else", "endif"});
      if (tokens_.accept_name("elif")) continue;
      last = true;
      if (tokens_.accept_name("else"))
        made->branches.push_back({nullptr, block("endif")});
      else if (!tokens_.accept_name("endif"))
        tokens_.wrong("{% endif %}");
    }
    return made;
  }

  Made loop() {
    Made made = make(StatementKind::loop);
    made->target = expressions_.target("in");
    tokens_.expect_name("in");
    made->expression = expressions_.tuple(false, "recursive");
    if (tokens_.accept_name("if")) made->condition = expressions_.expression();
    made->recursive = tokens_.accept_name("recursive");
    tokens_.expect(Token::Kind::block_end, "'%}'");
    ++loops_;
    made->body = statements({"endfor", "else"});
    --loops_;
    if (tokens_.accept_name("else"))
      made->otherwise = block("endfor");
    else if (!tokens_.accept_name("endfor"))
      tokens_.wrong("{% endfor %}");
    return made;
  }

  Made assignment() {
    Made made = make(StatementKind::set);
    made->target = expressions_.target();
    if (tokens_.accept_sign("=")) {
      made->expression = expressions_.tuple(true);
      return made;
    }
    if (tokens_.accept_sign("|")) made->condition = expressions_.filters(nullptr);
    made->body = block("endset");
    return made;
  }

  // A macro is called from elsewhere, so it does not see the loops around it.
  void macro_body(Statement& made, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    const bool varargs = std::exchange(expressions_.saw_varargs, false);
    const bool kwargs = std::exchange(expressions_.saw_kwargs, false);
    const bool caller = std::exchange(expressions_.saw_caller, false);
    made.body = block(end);
    made.uses_caller = expressions_.saw_caller;
    for (const Parameter& each : made.parameters)
      if (each.name == "caller" && !each.otherwise && made.uses_caller)
        fail("expected no parameter 'caller' of a macro, or one with a value");
    made.takes_more = expressions_.saw_varargs;
    made.takes_more_named = expressions_.saw_kwargs;
    expressions_.saw_varargs = varargs;
    expressions_.saw_kwargs = kwargs;
    expressions_.saw_caller = caller || made.uses_caller;
    loops_ = loops;
  }

  Made macro() {
    Made made = make(StatementKind::macro, tokens_.name());
    made->parameters = expressions_.parameters();
    macro_body(*made, "endmacro");
    return made;
  }

  Made call() {
    Made made = make(StatementKind::call);
    if (tokens_.at_sign("(")) made->parameters = expressions_.parameters();
    made->expression = expressions_.expression();
    if (made->expression->kind != Expression::Kind::call) tokens_.wrong("a call");
    macro_body(*made, "endcall");
    return made;
  }

  Made with() {
    Made made = make(StatementKind::with);
    while (!tokens_.at(Token::Kind::block_end)) {
      if (!made->assignments.empty()) tokens_.expect_sign(",");
      Child target = expressions_.target();
      tokens_.expect_sign("=");
      made->assignments.emplace_back(std::move(target), expressions_.expression());
    }
    made->body = block("endwith");
    return made;
  }

  TokenStream tokens_;
  ExpressionParser expressions_{tokens_};
  int depth_ = 0, loops_ = 0;
};

}  // namespace

Body parse_template(std::string_view text) {
  return StatementParser(text).whole();
}

}  // namespace attend::jinja
