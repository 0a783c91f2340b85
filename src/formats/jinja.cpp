#include "formats/jinja.h"

#include "base/error.h"
#include "formats/jinja_expression.h"

#include <algorithm>

namespace attend {
namespace {

using jinja::Token;

constexpr int kDeepest = 50;
constexpr std::size_t kMostSteps = 20'000;  // of rendering: loops within loops may be endless
constexpr std::string_view kSpace = " \t\n\r";

// A template cut up: text, {{ expressions }} and {% statements %}.
struct Segment {
  enum class Kind { text, expression, statement } kind;
  std::string text;
};

// Where the tag that begins at `at` ends; texts in it may hold anything.
std::size_t end_of_tag(std::string_view text, std::size_t at, std::string_view closing) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    if (quote != 0) {
      if (text[at] == '\\')
        ++at;
      else if (text[at] == quote)
        quote = 0;
    } else if (text.substr(at, 2) == closing) {
      return at;
    } else if (closing != "#}" && (text[at] == '\'' || text[at] == '"')) {
      quote = text[at];
    }
  }
  fail("expected {} behind a tag, found the template's end", closing);
}

std::vector<Segment> split_segments(std::string_view text) {
  std::vector<Segment> segments;
  std::size_t at = 0;
  bool line_begins = true;
  while (at < text.size()) {
    std::size_t tag = text.find('{', at);
    while (tag < text.size() &&
           std::string_view("{%#").find(text.substr(tag + 1, 1)) == std::string_view::npos)
      tag = text.find('{', tag + 1);
    if (tag + 1 >= text.size()) tag = text.size();
    std::string before(text.substr(at, tag - at));
    if (tag >= text.size()) {
      segments.push_back({Segment::Kind::text, before});
      break;
    }
    const char kind = text[tag + 1];
    const bool block = kind != '{';
    std::size_t begin = tag + 2;
    if (text.substr(begin, 1) == "-") {
      before.resize(before.find_last_not_of(kSpace) + 1);
      ++begin;
    } else if (text.substr(begin, 1) == "+") {
      ++begin;
    } else if (block) {  // lstrip_blocks: a block alone in its line takes the space in front of it
      const std::size_t line = before.rfind('\n') + 1;
      if ((line > 0 || line_begins) && before.find_first_not_of(" \t", line) == before.npos)
        before.resize(line);
    }
    segments.push_back({Segment::Kind::text, before});
    const std::size_t end = end_of_tag(text, begin, kind == '{' ? "}}" : kind == '%' ? "%}" : "#}");
    std::string_view inside = text.substr(begin, end - begin);
    at = end + 2;
    line_begins = false;
    if (inside.ends_with('-')) {
      inside.remove_suffix(1);
      at = std::min(text.find_first_not_of(kSpace, at), text.size());
      line_begins = at > 0 && text[at - 1] == '\n';
    } else if (block && text.substr(at, 1) == "\n") {  // trim_blocks: the line break behind it as well
      ++at;
      line_begins = true;
    }
    if (kind != '#')
      segments.push_back({block ? Segment::Kind::statement : Segment::Kind::expression, std::string(inside)});
  }
  return segments;
}

}  // namespace

struct JinjaTemplate::Node {
  enum class Kind { text, output, set, condition, loop } kind = Kind::text;
  std::string text;           // or the name of a variable
  std::vector<Token> tokens;  // with an expression from `at` on
  std::size_t at = 0;
  std::vector<Node> body = {}, otherwise = {};
};

namespace {

using Node = JinjaTemplate::Node;

class Parser {
 public:
  explicit Parser(std::vector<Segment> segments) : segments_(std::move(segments)) {}

  std::vector<Node> whole() {
    std::vector<Node> nodes = block();
    if (at_ < segments_.size()) fail("{{%{}%}} ends what has not begun", segments_[at_].text);
    return nodes;
  }

 private:
  // The first word of a statement.
  static std::string word_of(const std::vector<Token>& tokens) {
    return tokens.front().kind == Token::Kind::name ? tokens.front().text : "";
  }

  // Up to a statement that ends or goes on with something, which is left.
  std::vector<Node> block() {
    if (++depth_ > kDeepest) fail("more than {} blocks within each other", kDeepest);
    std::vector<Node> nodes;
    for (; at_ < segments_.size(); ++at_) {
      const Segment& segment = segments_[at_];
      if (segment.kind == Segment::Kind::text) {
        if (!segment.text.empty()) nodes.push_back({Node::Kind::text, segment.text, {}});
        continue;
      }
      std::vector<Token> tokens = jinja::split_tokens(segment.text);
      if (segment.kind == Segment::Kind::expression) {
        nodes.push_back({Node::Kind::output, {}, std::move(tokens)});
        continue;
      }
      const std::string word = word_of(tokens);
      if (word == "endif" || word == "endfor" || word == "elif" || word == "else") break;
      nodes.push_back(statement(word, std::move(tokens)));
    }
    --depth_;
    return nodes;
  }

  Node statement(const std::string& word, std::vector<Token> tokens) {
    if (word == "if") return condition(std::move(tokens));
    const bool named = tokens.size() > 3 && tokens[1].kind == Token::Kind::name;
    if (word == "set" && named && tokens[2].text == "=") {
      const std::string name = tokens[1].text;
      return {Node::Kind::set, name, std::move(tokens), 3};
    }
    if (word != "for" || !named || tokens[2].text != "in")
      fail("the statement {{%{}%}}", segments_[at_].text);
    const std::string name = tokens[1].text;
    Node loop{Node::Kind::loop, name, std::move(tokens), 3};
    ++at_;
    loop.body = block();
    expect("endfor");
    return loop;
  }

  Node condition(std::vector<Token> tokens) {
    Node node{Node::Kind::condition, {}, std::move(tokens), 1};
    ++at_;
    node.body = block();
    std::vector<Token> next =
        at_ < segments_.size() ? jinja::split_tokens(segments_[at_].text) : std::vector<Token>(1);
    if (word_of(next) == "elif") {
      if (++depth_ > kDeepest) fail("more than {} branches of one condition", kDeepest);
      node.otherwise.push_back(condition(std::move(next)));
      --depth_;
      return node;
    }
    if (word_of(next) == "else") {
      ++at_;
      node.otherwise = block();
    }
    expect("endif");
    return node;
  }

  void expect(const char* word) const {
    if (at_ == segments_.size() || word_of(jinja::split_tokens(segments_[at_].text)) != word)
      fail("expected {{% {} %}}, found {}", word, at_ == segments_.size() ? "the end" : segments_[at_].text);
  }

  std::vector<Segment> segments_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class Renderer {
 public:
  std::string text;

  void render(const std::vector<Node>& nodes, Json& variables) {
    for (const Node& node : nodes) {
      if (++steps_ > kMostSteps) fail("a template that takes more than {} steps", kMostSteps);
      switch (node.kind) {
        case Node::Kind::text:
          text += node.text;
          break;
        case Node::Kind::output:
          text += jinja::written(jinja::evaluate(node.tokens, node.at, variables));
          break;
        case Node::Kind::set:
          variables[node.text] = jinja::evaluate(node.tokens, node.at, variables);
          break;
        case Node::Kind::condition:
          render(
              jinja::is_true(jinja::evaluate(node.tokens, node.at, variables)) ? node.body : node.otherwise,
              variables);
          break;
        case Node::Kind::loop:
          render_loop(node, variables);
      }
    }
  }

 private:
  void render_loop(const Node& node, const Json& variables) {
    const Json list = jinja::evaluate(node.tokens, node.at, variables);
    if (!list.is_array()) fail("a loop over what is no list: {}", shown(list));
    for (std::size_t i = 0; i < list.size(); ++i) {
      Json inner = variables;  // what a turn sets is forgotten after it
      inner[node.text] = list[i];
      inner["loop"] = {{"index0", i},           {"index", i + 1},
                       {"first", i == 0},       {"last", i + 1 == list.size()},
                       {"length", list.size()}, {"revindex", list.size() - i}};
      render(node.body, inner);
    }
  }

  std::size_t steps_ = 0;
};

}  // namespace

JinjaTemplate::JinjaTemplate(std::string_view text, std::string source) : source_(std::move(source)) {
  std::string unix_lines(text);
  for (std::size_t at = 0; (at = unix_lines.find("\r\n", at)) != unix_lines.npos;) unix_lines.erase(at, 1);
  if (unix_lines.ends_with('\n')) unix_lines.pop_back();
  auto root = std::make_shared<Node>();
  try {
    root->body = Parser(split_segments(unix_lines)).whole();
  } catch (const Error& error) {
    fail("{}: a template that attend cannot read: {}", source_, error.what());
  }
  root_ = std::move(root);
}

std::string JinjaTemplate::render(const Json& variables) const {
  Renderer renderer;
  Json scope = variables;
  try {
    renderer.render(root_->body, scope);
  } catch (const Error& error) {
    fail("{}: {}", source_, error.what());
  }
  return renderer.text;
}

}  // namespace attend
