// A text by characters (code points), as Python sees it. Token offsets count characters.
#pragma once

#include "base/utf8.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

class Characters {
 public:
  // `text` is valid UTF-8 and outlives this.
  explicit Characters(std::string_view text) : text_(text) {
    for (std::size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) begins_.push_back(at);
    begins_.push_back(text.size());
  }
  std::size_t size() const { return begins_.size() - 1; }
  // text[begin:end]; positions after the end of the text are ignored, as in Python.
  std::string slice(std::size_t begin, std::size_t end) const {
    end = std::min(end, size());
    begin = std::min(begin, end);
    return std::string(text_.substr(begins_[begin], begins_[end] - begins_[begin]));
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> begins_;  // of each character, and of the end
};

}  // namespace attend
