#include "data/bad_rows.h"

#include "base/log.h"

#include <fmt/ranges.h>

namespace attend {

BadRows::BadRows(std::string source, std::string expected, std::string unit)
    : source_(std::move(source)), expected_(std::move(expected)), unit_(std::move(unit)) {}

void BadRows::add(std::string reason) {
  constexpr std::size_t kNamed = 3;
  if (first_.size() < kNamed) first_.push_back(std::move(reason));
  ++bad_;
}

void BadRows::report() const {
  const std::size_t all = good_ + bad_;
  if (all == 0) fail("{}: expected {}, found no {}", source_, expected_, unit_);
  if (bad_ == 0) return;
  const std::string how_many = fmt::format("{} of {} {}", bad_, all, unit_);
  const std::string reasons =
      fmt::format("{}{}", fmt::join(first_, "; "), bad_ > first_.size() ? "; ..." : "");
  if (bad_ > good_)
    fail("{}: expected {}, but {} cannot be read: {}{}{}", source_, expected_, how_many, reasons,
         advice_.empty() ? "" : "; ", advice_);
  warn("{}: left out {} that cannot be read: {}", source_, how_many, reasons);
}

}  // namespace attend
