// Work on many inputs when some may be bad.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <functional>

namespace attend {

// Calls work(begin, end) for parts of [begin, end), in order, until all are done. If it throws an Error about
// an input, the part is halved and tried again, so that a bad input does not affect good ones. bad(i, error)
// gets the error of an input that fails alone. Other errors pass through.
inline void work_around_bad(std::size_t begin, std::size_t end,
                            const std::function<void(std::size_t, std::size_t)>& work,
                            const std::function<void(std::size_t, const Error&)>& bad) {
  if (begin == end) return;
  try {
    work(begin, end);
    return;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    if (end - begin == 1) {
      bad(begin, error);
      return;
    }
  }
  const std::size_t middle = begin + (end - begin) / 2;
  work_around_bad(begin, middle, work, bad);
  work_around_bad(middle, end, work, bad);
}

}  // namespace attend
