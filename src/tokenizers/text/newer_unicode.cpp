#include "tokenizers/text/newer_unicode.h"

#include "base/error.h"
#include "tokenizers/text/newer_unicode_tables.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include <oniguruma.h>

namespace attend::tokenizers {
namespace {

using Ranges = std::vector<std::pair<OnigCodePoint, OnigCodePoint>>;

// Oniguruma's own ranges for this name.
Ranges known(const char* name) {
  const auto* begin = reinterpret_cast<const OnigUChar*>(name);
  const OnigEncoding encoding = ONIG_ENCODING_UTF8;
  const int type = ONIGENC_PROPERTY_NAME_TO_CTYPE(encoding, const_cast<OnigUChar*>(begin),
                                                  const_cast<OnigUChar*>(begin) + std::strlen(name));
  OnigCodePoint single_bytes = 0;
  const OnigCodePoint* table = nullptr;
  if (type < 0 ||
      ONIGENC_GET_CTYPE_CODE_RANGE(encoding, static_cast<OnigCtype>(type), &single_bytes, &table) != 0)
    fail("Oniguruma does not know the property {}", name);
  Ranges ranges;
  for (OnigCodePoint i = 0; i < table[0]; ++i) ranges.emplace_back(table[1 + 2 * i], table[2 + 2 * i]);
  return ranges;
}

// Sorted and merged.
Ranges joined(Ranges ranges) {
  std::ranges::sort(ranges);
  Ranges result;
  for (const auto& range : ranges) {
    if (!result.empty() && range.first <= result.back().second + 1)
      result.back().second = std::max(result.back().second, range.second);
    else
      result.push_back(range);
  }
  return result;
}

}  // namespace

void teach_oniguruma() {
  static std::deque<std::vector<OnigCodePoint>> tables;  // Oniguruma keeps pointers to them
  for (const unicode::NewerProperty& property : unicode::newer_properties) {
    Ranges ranges = known(property.name);
    for (const unicode::Range& range : property.ranges) ranges.emplace_back(range.first, range.last);
    ranges = joined(std::move(ranges));
    std::vector<OnigCodePoint>& table = tables.emplace_back();
    table.push_back(static_cast<OnigCodePoint>(ranges.size()));
    for (const auto& [first, last] : ranges) table.insert(table.end(), {first, last});
    if (const int code = onig_unicode_define_user_property(property.name, table.data()); code != ONIG_NORMAL)
      fail("Oniguruma rejects the property {}: error {}", property.name, code);
  }
}

std::string by_property(const std::string& expression) {
  std::string result;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char next = expression[i] == '\\' && i + 1 < expression.size() ? expression[i + 1] : '\0';
    switch (next) {
      case '\0':
        result += expression[i];
        continue;
      case 'w':
        result += "\\p{Word}";
        break;
      case 'W':
        result += "\\P{Word}";
        break;
      case 'd':
        result += "\\p{Nd}";
        break;
      case 'D':
        result += "\\P{Nd}";
        break;
      default:
        result.append({'\\', next});
    }
    ++i;
  }
  return result;
}

}  // namespace attend::tokenizers
