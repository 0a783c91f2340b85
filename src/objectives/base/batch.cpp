#include "objectives/base/batch.h"

namespace attend {
namespace {

std::int64_t padded(const Offsets& offsets) {
  return offsets.count() * offsets.longest();
}

}  // namespace

std::int64_t Batch::sequences() const {
  return images.pixels.defined() ? images.pixels.size(0) : tokens.offsets.count();
}

std::int64_t Batch::real_tokens() const {
  return images.pixels.defined() ? sequences() * patches : tokens.offsets.total() + target.offsets.total();
}

std::int64_t Batch::padded_tokens() const {
  return images.pixels.defined() ? real_tokens() : padded(tokens.offsets) + padded(target.offsets);
}

}  // namespace attend
