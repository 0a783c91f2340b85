#include "generation/forms/grammar.h"

#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"
#include "formats/json/json.h"
#include "generation/forms/json_schema.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>

#include <xgrammar/xgrammar.h>

// XGrammar calls these functions (XGRAMMAR_LOG_CUSTOMIZE).
namespace xgrammar {

[[noreturn]] void LogFatalImpl(const std::string& file, int line, const std::string& message);
void LogMessageImpl(const std::string& file, int line, int level, const std::string& message);

void LogFatalImpl(const std::string&, int, const std::string& message) {
  throw attend::Error(message);
}

void LogMessageImpl(const std::string&, int, int level, const std::string& message) {
  constexpr int kWarning = 2;  // level 1 is information
  if (level >= kWarning) attend::warn("{}", message);
}

}  // namespace xgrammar

namespace attend {
namespace {

const char* name_of(TextForm::Kind kind) {
  switch (kind) {
    case TextForm::Kind::json_schema:
      return "json_schema";
    case TextForm::Kind::regex:
      return "regex";
    case TextForm::Kind::grammar:
      return "grammar";
    case TextForm::Kind::structural_tag:
      return "structural_tag";
  }
  return "";
}

// A token that continues a word is not written like that at the beginning of a text ("##ing").
std::vector<bool> find_continuations(const Tokenizer& tokenizer, std::int64_t vocabulary) {
  const std::string prefix = tokenizer.continuing_subword_prefix();
  std::vector<bool> found(static_cast<std::size_t>(vocabulary), false);
  if (prefix.empty()) return found;
  for (std::size_t id = 0; id < found.size(); ++id)
    found[id] = tokenizer.id_to_token(static_cast<TokenId>(id)).value_or("").starts_with(prefix);
  return found;
}

// Whether a token's space is dropped at the beginning or the end of a text.
struct LostSpaces {
  bool first = false, last = false;

  LostSpaces(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
    const auto alone = [&](std::size_t token) {
      const auto id = static_cast<TokenId>(token);
      return tokenizer.decode({&id, 1});
    };
    const auto begins = std::ranges::find_if(
        texts, [](const std::string& text) { return text.starts_with(' ') && !text.starts_with("  "); });
    const auto ends = std::ranges::find_if(texts, [](const std::string& text) {
      return text.ends_with(' ') && !text.ends_with("  ") && !text.starts_with(' ');
    });
    if (begins != texts.end())
      first = !alone(static_cast<std::size_t>(begins - texts.begin())).starts_with(' ');
    if (ends != texts.end()) last = !alone(static_cast<std::size_t>(ends - texts.begin())).ends_with(' ');
  }
};

std::size_t common_length(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// A model that is uncertain would write endless blank lines.
constexpr int kMaxWhiteSpace = 16;

// JSON schemas within a structural tag become grammars of JSON as Python's json.dumps writes it: XGrammar
// itself would not limit white space, and ignores keywords that it does not know.
void write_schemas(Json& tag) {
  if (tag.is_object() && tag.value("type", "") == "json_schema") {
    const std::string schema = readable_json_schema(tag.at("json_schema").dump());
    if (tag.value("style", "json") != "json") {  // arguments between tags
      tag["json_schema"] = parse_json(schema, "a JSON schema");
      return;
    }
    tag = {{"type", "grammar"},
           {"grammar", xgrammar::Grammar::FromJSONSchema(schema, /*any_whitespace=*/false).ToString()}};
  } else if (tag.is_structured()) {
    for (Json& part : tag) write_schemas(part);
  }
}

xgrammar::Grammar read_tag(const std::string& text) {
  Json tag = parse_json(text, "the structural tag");
  write_schemas(tag);
  auto read = xgrammar::Grammar::FromStructuralTag(tag.dump());
  if (auto* grammar = std::get_if<xgrammar::Grammar>(&read)) return *grammar;
  std::visit([](const std::exception& error) { fail("{}", error.what()); },
             std::get<xgrammar::StructuralTagError>(read));
  fail("it cannot be read");
}

// The texts of tokens. Special tokens have none, and cannot come, unless a structural tag names them.
std::vector<std::string> texts_for(const TextForm& form, const Tokenizer& tokenizer) {
  std::vector<std::string> texts = tokenizer.token_texts();
  if (form.kind != TextForm::Kind::structural_tag) return texts;
  for (std::size_t id = 0; id < texts.size(); ++id) {
    if (!texts[id].empty()) continue;
    const std::string name = tokenizer.id_to_token(static_cast<TokenId>(id)).value_or("");
    if (!name.empty() && form.text.find(name) != std::string::npos) texts[id] = name;
  }
  return texts;
}

xgrammar::Grammar read(const TextForm& form) {
  if (const auto at = find_invalid_utf8(form.text)) fail("not valid UTF-8 at byte {}", *at);
  switch (form.kind) {
    case TextForm::Kind::json_schema:
      return xgrammar::Grammar::FromJSONSchema(readable_json_schema(form.text), /*any_whitespace=*/true, {},
                                               {},
                                               /*strict_mode=*/true, kMaxWhiteSpace);
    case TextForm::Kind::regex:
      return xgrammar::Grammar::FromRegex(form.text);
    case TextForm::Kind::grammar:
      return xgrammar::Grammar::FromEBNF(form.text);
    case TextForm::Kind::structural_tag:
      return read_tag(form.text);
  }
  fail("no such form of a text");
}

}  // namespace

struct Grammar::State {
  // The state of one text.
  struct Reading {
    xgrammar::GrammarMatcher matcher;
    std::vector<std::int64_t> text = {};
  };

  xgrammar::CompiledGrammar compiled;
  std::int64_t vocabulary;
  std::vector<bool> never_first;  // tokens
  std::mutex mutex;
  // A text is checked again with one more token, so states of texts are kept; the latest is last.
  std::deque<Reading> readings;
  static constexpr std::size_t kMaxReadings = 256;

  State(const TextForm& form, const Tokenizer& tokenizer, std::int64_t size,
        std::span<const std::int64_t> ends)
      : compiled(compile(form, tokenizer, size, ends)),
        vocabulary(size),
        never_first(find_continuations(tokenizer, size)) {}

  static xgrammar::CompiledGrammar compile(const TextForm& form, const Tokenizer& tokenizer,
                                           std::int64_t size, std::span<const std::int64_t> ends) {
    std::vector<std::string> texts = texts_for(form, tokenizer);
    const LostSpaces lost(tokenizer, texts);
    texts.resize(static_cast<std::size_t>(size));
    const xgrammar::TokenizerInfo tokens(texts, xgrammar::VocabType::RAW, static_cast<int>(size),
                                         std::vector<std::int32_t>(ends.begin(), ends.end()));
    std::vector<xgrammar::Grammar> parts = {read(form)};
    if (lost.first) parts.insert(parts.begin(), xgrammar::Grammar::FromRegex(" ?"));
    if (lost.last) parts.push_back(xgrammar::Grammar::FromRegex(" ?"));
    xgrammar::GrammarCompiler compiler(tokens, /*max_threads=*/1, /*cache_enabled=*/false);
    return compiler.CompileGrammar(parts.size() == 1 ? parts[0] : xgrammar::Grammar::Concat(parts));
  }

  // The state that is nearest to `text`, or a new one.
  Reading take(std::span<const std::int64_t> text) {
    const std::lock_guard lock(mutex);
    auto best = readings.end();
    std::size_t shortest = text.size() + 1;
    for (auto reading = readings.begin(); reading != readings.end(); ++reading) {
      const std::size_t common = common_length(reading->text, text);
      const std::size_t way = (reading->text.size() - common) + (text.size() - common);
      if (way < shortest) {
        shortest = way;
        best = reading;
      }
    }
    if (best == readings.end()) return {xgrammar::GrammarMatcher(compiled)};
    Reading taken = std::move(*best);
    readings.erase(best);
    return taken;
  }

  void give_back(Reading reading) {
    const std::lock_guard lock(mutex);
    readings.push_back(std::move(reading));
    if (readings.size() > kMaxReadings) readings.pop_front();
  }
};

Grammar::Grammar(const TextForm& form, const Tokenizer& tokenizer, std::int64_t vocabulary,
                 std::span<const std::int64_t> ends) {
  try {
    state_ = std::make_unique<State>(form, tokenizer, vocabulary, ends);
  } catch (const std::exception& error) {
    fail("{}: {}", name_of(form.kind), error.what());
  }
}

Grammar::~Grammar() = default;

void Grammar::apply(std::span<float> scores, std::span<const std::int64_t> text) const {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  State::Reading reading = state_->take(text);
  const std::size_t common = common_length(reading.text, text);
  reading.matcher.Rollback(static_cast<int>(reading.text.size() - common));
  reading.text.resize(common);
  while (reading.text.size() < text.size() && !reading.matcher.IsTerminated() &&
         reading.matcher.AcceptToken(static_cast<std::int32_t>(text[reading.text.size()])))
    reading.text.push_back(text[reading.text.size()]);
  if (reading.text.size() < text.size() || reading.matcher.IsTerminated()) {
    std::ranges::fill(scores, kNever);
    state_->give_back(std::move(reading));
    return;
  }

  // A bit for each token.
  std::vector<std::int32_t> allowed(
      static_cast<std::size_t>(xgrammar::GetBitmaskSize(static_cast<int>(state_->vocabulary))));
  std::int64_t shape = static_cast<std::int64_t>(allowed.size());
  DLTensor mask{allowed.data(), {kDLCPU, 0}, 1, xgrammar::GetBitmaskDLType(), &shape, nullptr, 0};
  if (!reading.matcher.FillNextTokenBitmask(&mask)) std::ranges::fill(allowed, -1);
  state_->give_back(std::move(reading));
  bool any = false;
  for (std::size_t token = 0; token < scores.size(); ++token) {
    if ((allowed[token / 32] >> (token % 32) & 1) == 0 || (text.empty() && state_->never_first[token]))
      scores[token] = kNever;
    else
      any = true;
  }
  if (!any)
    fail(
        "the text must go on, but with no token of the vocabulary: the form has no text that begins so, or "
        "the tokenizer cannot write it");
}

}  // namespace attend
