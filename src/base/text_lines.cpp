#include "base/text_lines.h"

#include "base/error.h"

namespace attend {
namespace {

struct Mark {
  std::string_view bytes;
  const char* encoding;
};

// UTF-32's before UTF-16's: the little one begins with the other.
constexpr Mark kOtherMarks[] = {{{"\xFF\xFE\0\0", 4}, "UTF-32"},
                                {{"\0\0\xFE\xFF", 4}, "UTF-32"},
                                {{"\xFF\xFE", 2}, "UTF-16"},
                                {{"\xFE\xFF", 2}, "UTF-16"}};

}  // namespace

std::string_view without_byte_order_mark(std::string_view text, const std::string& source) {
  for (const Mark& mark : kOtherMarks)
    if (text.starts_with(mark.bytes))
      fail("{}: expected UTF-8, found {}; `iconv -f {} -t UTF-8` converts it", source, mark.encoding,
           mark.encoding);
  constexpr std::string_view utf8 = "\xEF\xBB\xBF";
  if (text.starts_with(utf8)) text.remove_prefix(utf8.size());
  return text;
}

}  // namespace attend
