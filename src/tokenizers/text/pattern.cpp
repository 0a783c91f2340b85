#include "tokenizers/text/pattern.h"

#include "base/error.h"
#include "tokenizers/text/newer_unicode.h"
#include "tokenizers/text/unicode.h"

#include <mutex>

#include <oniguruma.h>

namespace attend::tokenizers {
namespace {

const OnigUChar* bytes(const char* text) {
  return reinterpret_cast<const OnigUChar*>(text);
}

std::string message(int code, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int size = onig_error_code_to_str(text, code, info);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

}  // namespace

Pattern Pattern::text(std::string text) {
  // The empty text matches at every position, like the empty expression.
  if (text.empty()) return regex("", "the empty pattern");
  Pattern pattern;
  pattern.text_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(const std::string& expression, const std::string& source) {
  static std::mutex mutex;  // Oniguruma compiles one expression at a time; searching needs no lock
  const std::lock_guard lock(mutex);
  static const int initialized = [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    const int code = onig_initialize(encodings, 1);
    if (code == ONIG_NORMAL) teach_oniguruma();
    return code;
  }();
  if (initialized != ONIG_NORMAL) fail("Oniguruma cannot be started: {}", message(initialized, nullptr));
  regex_t* compiled = nullptr;
  OnigErrorInfo info;
  const std::string asked = by_property(expression);
  const int code = onig_new(&compiled, bytes(asked.data()), bytes(asked.data() + asked.size()),
                            ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
  if (code != ONIG_NORMAL)
    fail("{}: '{}' is not a regular expression: {}", source, expression, message(code, &info));
  Pattern pattern;
  pattern.regex_ = std::shared_ptr<regex_t>(compiled, onig_free);
  return pattern;
}

Pattern Pattern::from_json(const Json& json, const std::string& source) {
  if (json.is_object() && json.size() == 1 && json.begin().value().is_string()) {
    const auto& value = json.begin().value().get_ref<const std::string&>();
    if (json.begin().key() == "String") return text(value);
    if (json.begin().key() == "Regex") return regex(value, source);
  }
  fail(R"({}: expected {{"String": text}} or {{"Regex": expression}})", source);
}

void Pattern::find_all(std::string_view text, std::vector<TextSpan>& matches) const {
  matches.clear();
  const auto add = [&](std::size_t begin, std::size_t end) {
    matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  };
  if (text.empty()) return;
  if (!regex_) {
    for (std::size_t at = text.find(text_); at != text.npos; at = text.find(text_, at + text_.size()))
      add(at, at + text_.size());
    return;
  }
  // An empty match right after another match does not count.
  auto* regex = static_cast<regex_t*>(const_cast<void*>(regex_.get()));
  const std::unique_ptr<OnigRegion, void (*)(OnigRegion*)> region(
      onig_region_new(), [](OnigRegion* old) { onig_region_free(old, 1); });
  std::size_t from = 0;
  while (from <= text.size()) {
    const int found =
        onig_search(regex, bytes(text.data()), bytes(text.data() + text.size()), bytes(text.data() + from),
                    bytes(text.data() + text.size()), region.get(), ONIG_OPTION_NONE);
    if (found == ONIG_MISMATCH) break;
    if (found < 0)
      fail("a regular expression of the tokenizer failed on a text: {}", message(found, nullptr));
    const auto begin = static_cast<std::size_t>(region->beg[0]),
               end = static_cast<std::size_t>(region->end[0]);
    if (begin == end && !matches.empty() && matches.back().end == end) {
      from += from < text.size() ? unicode::decode(text.data() + from).size : 1;
      continue;
    }
    add(begin, end);
    from = end;
  }
}

}  // namespace attend::tokenizers
