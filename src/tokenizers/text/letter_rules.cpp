#include "tokenizers/text/letter_rules.h"

#include "base/python_text.h"
#include "base/utf8.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

bool matches(const Rule& rule, const Letters& text, std::size_t at) {
  if (text.size() - at < rule.pattern.size()) return false;
  for (std::size_t i = 0; i < rule.pattern.size(); ++i)
    if (!rule.pattern[i](text[at + i].value)) return false;
  return true;
}

}  // namespace

Letters letters_of(const NormalizedText& text) {
  Letters letters;
  letters.reserve(text.text().size());
  for (std::size_t at = 0; at < text.text().size();) {
    const auto [c, size] = unicode::decode(text.text().data() + at);
    letters.push_back({c, text.aligned() ? text.alignment()[at] : TextSpan{}});
    at += size;
  }
  return letters;
}

NormalizedText text_of(const Letters& letters, TextSpan source, bool aligned) {
  std::string text;
  std::vector<TextSpan> alignment;
  for (const Letter& item : letters) {
    append_utf8(text, item.value);
    if (aligned) alignment.resize(text.size(), item.source);
  }
  return {std::move(text), std::move(alignment), source, aligned};
}

void rewrite(const Rule& rule, Letters& text) {
  const std::size_t size = rule.pattern.size() - rule.ahead;
  Letters result;
  std::size_t done = 0;  // bytes of `text`; nothing is copied before the first match
  for (std::size_t at = 0; at < text.size();) {
    if (!matches(rule, text, at)) {
      ++at;
      continue;
    }
    result.insert(result.end(), text.begin() + static_cast<std::ptrdiff_t>(done),
                  text.begin() + static_cast<std::ptrdiff_t>(at));
    TextSpan source = text[at].source;
    for (const char* c = rule.result; *c != '\0'; ++c) {
      if (*c >= '0' && *c <= '9') {
        result.push_back(text[at + static_cast<std::size_t>(*c - '0')]);
        source = result.back().source;
      } else {
        result.push_back({static_cast<char32_t>(*c), source});
      }
    }
    at += size;
    done = at;
  }
  if (done == 0) return;
  result.insert(result.end(), text.begin() + static_cast<std::ptrdiff_t>(done), text.end());
  text.swap(result);
}

void rewrite(std::span<const Rule> rules, Letters& text) {
  for (const Rule& rule : rules) rewrite(rule, text);
}

void join(bool (*is_one)(char32_t), Letters& text) {
  Letters result;
  for (const Letter& item : text) {
    if (!is_one(item.value))
      result.push_back(item);
    else if (result.empty() || result.back().value != U' ')
      result.push_back({U' ', item.source});
  }
  text.swap(result);
}

void join_spaces(Letters& text) {
  join([](char32_t c) { return c == U' '; }, text);
}

void strip(Letters& text) {
  const auto is_text = [](const Letter& item) { return !is_space(item.value); };
  text.erase(std::find_if(text.rbegin(), text.rend(), is_text).base(), text.end());
  text.erase(text.begin(), std::find_if(text.begin(), text.end(), is_text));
}

void replace(std::span<const Replacement> table, Letters& text) {
  for (const Replacement& item : table) {
    const Rule rule{{item.value}, item.text};
    rewrite(rule, text);
  }
}

}  // namespace attend::tokenizers
