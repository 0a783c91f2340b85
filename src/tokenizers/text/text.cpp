#include "tokenizers/text/text.h"

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/text/byte_level.h"

#include <algorithm>
#include <limits>

namespace attend::tokenizers {
namespace {

void check_size(std::size_t size) {
  // Offsets have 32 bits. The given text is limited to much less; only a replacement can make it this large.
  if (size > std::numeric_limits<std::int32_t>::max())
    fail("a text must stay below 2 GiB when normalized, this one grows to {} bytes", size);
}

}  // namespace

NormalizedText::NormalizedText(std::string_view text, TextSpan source, bool aligned)
    : text_(text), source_(source), aligned_(aligned) {
  if (!aligned) return;
  alignment_.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const unsigned size = unicode::decode(text.data() + at).size;
    const auto begin = source.begin + static_cast<std::uint32_t>(at);
    alignment_.insert(alignment_.end(), size, {begin, begin + size});
    at += size;
  }
}

void NormalizedText::rewrite(std::span<const unicode::Step> steps, std::size_t dropped) {
  std::size_t begin = 0;
  // `tokenizers` rewrites from the first byte with a source. What was inserted before it (by a regular
  // expression that matches the empty text) stays, although the rewriting sees it.
  if (aligned_)
    while (begin < alignment_.size() && alignment_[begin].begin == alignment_[begin].end) ++begin;
  splice(begin, text_.size(), steps, dropped);
}

void NormalizedText::splice(std::size_t begin, std::size_t end, std::span<const unicode::Step> steps,
                            std::size_t dropped) {
  std::string text;
  text.reserve(text_.size() + steps.size() / 8);
  text.append(text_, 0, begin);
  if (!aligned_) {
    for (const unicode::Step& step : steps) append_utf8(text, step.value);
    text.append(text_, end);
    check_size(text.size());
    text_.swap(text);
    return;
  }
  std::vector<TextSpan> alignment(alignment_.begin(),
                                  alignment_.begin() + static_cast<std::ptrdiff_t>(begin));
  alignment.reserve(alignment_.size());
  std::size_t at = begin;  // the old text is replaced up to here
  const auto skip = [&] {
    if (at < end) at += unicode::decode(text_.data() + at).size;
  };
  for (std::size_t i = 0; i < dropped; ++i) skip();
  for (const unicode::Step& step : steps) {
    TextSpan from{source_.begin, source_.begin};
    if (step.change <= 0)
      from = at < alignment_.size() ? alignment_[at] : TextSpan{source_.end, source_.end};
    else if (at > 0)
      from = alignment_[at - 1];
    for (std::int32_t i = step.change; i <= 0; ++i) skip();  // skips the code point and those dropped with it
    append_utf8(text, step.value);
    alignment.resize(text.size(), from);
  }
  text.append(text_, end);
  alignment.insert(alignment.end(), alignment_.begin() + static_cast<std::ptrdiff_t>(end), alignment_.end());
  check_size(text.size());
  text_.swap(text);
  alignment_.swap(alignment);
}

void NormalizedText::prepend(std::string_view prefix) {
  if (text_.empty() || prefix.empty()) return;
  text_.insert(0, prefix);
  check_size(text_.size());
  if (aligned_) alignment_.insert(alignment_.begin(), prefix.size(), TextSpan(alignment_.front()));
}

void NormalizedText::replace(std::span<const TextSpan> matches, std::string_view content) {
  if (matches.empty()) return;
  std::string text;
  std::vector<TextSpan> alignment;
  std::size_t done = 0;
  const auto keep = [&](std::size_t end) {
    text.append(text_, done, end - done);
    if (aligned_)
      alignment.insert(alignment.end(), alignment_.begin() + static_cast<std::ptrdiff_t>(done),
                       alignment_.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const TextSpan& match : matches) {
    keep(match.begin);
    text += content;
    check_size(text.size());
    if (aligned_)
      alignment.resize(text.size(),
                       match.end > 0 ? alignment_[match.end - 1] : TextSpan{source_.begin, source_.begin});
    done = match.end;
  }
  keep(text_.size());
  text_.swap(text);
  alignment_.swap(alignment);
}

void Pieces::clear(bool keep_alignment) {
  text.clear();
  alignment.clear();
  pieces.clear();
  aligned = keep_alignment;
  byte_level = false;
}

void Pieces::append(const NormalizedText& part, TokenId token) {
  const auto begin = static_cast<std::uint32_t>(text.size());
  text += part.text();
  check_size(text.size());
  if (aligned) alignment.insert(alignment.end(), part.alignment().begin(), part.alignment().end());
  pieces.push_back({begin, static_cast<std::uint32_t>(text.size()), part.source(), token});
}

Piece Pieces::cut(const Piece& whole, std::uint32_t begin, std::uint32_t end) const {
  Piece piece{begin, end, whole.source, -1};
  if (aligned) piece.source = {alignment[begin].begin, alignment[end - 1].end};
  return piece;
}

NormalizedText Pieces::extract(const Piece& piece) const {
  std::vector<TextSpan> part;
  if (aligned)
    part.assign(alignment.begin() + static_cast<std::ptrdiff_t>(piece.begin),
                alignment.begin() + static_cast<std::ptrdiff_t>(piece.end));
  return {std::string(view(piece)), std::move(part), piece.source, aligned};
}

void Pieces::write_byte_level() {
  if (!byte_level) return;
  byte_level = false;
  Pieces result;
  result.clear(aligned);
  result.pieces.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    const auto begin = static_cast<std::uint32_t>(result.text.size());
    for (std::uint32_t at = piece.begin; at < piece.end; ++at) {
      if (piece.token < 0)
        result.text += byte_level_letter(static_cast<unsigned char>(text[at]));
      else
        result.text += text[at];
      if (aligned) result.alignment.resize(result.text.size(), alignment[at]);
    }
    check_size(result.text.size());
    result.pieces.push_back(
        {begin, static_cast<std::uint32_t>(result.text.size()), piece.source, piece.token});
  }
  text.swap(result.text);
  alignment.swap(result.alignment);
  pieces.swap(result.pieces);
}

}  // namespace attend::tokenizers
