// A text in normalizers and pre-tokenizers, with the source of each byte.
#pragma once

#include <attend/tokenizer.h>

#include "tokenizers/text/unicode.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

// A normalized text and, for each byte, the bytes of the given text that it represents. All bytes of a code
// point have the same source. The alignment is stored only if offsets are requested (`aligned`).
class NormalizedText {
 public:
  NormalizedText() = default;
  // All of `text`, which is the part `source` of the given text.
  NormalizedText(std::string_view text, TextSpan source, bool aligned);
  NormalizedText(std::string text, std::vector<TextSpan> alignment, TextSpan source, bool aligned)
      : text_(std::move(text)), alignment_(std::move(alignment)), source_(source), aligned_(aligned) {}

  const std::string& text() const { return text_; }
  const std::vector<TextSpan>& alignment() const { return alignment_; }
  bool aligned() const { return aligned_; }
  TextSpan source() const { return source_; }  // the part of the given text that this represents

  // Replaces the text according to the steps. `dropped`: number of code points dropped before the first step.
  void rewrite(std::span<const unicode::Step> steps, std::size_t dropped = 0);
  // Replaces each byte by one byte: no code point may change its size.
  template <class Map>
  void map_bytes(Map map) {
    for (char& byte : text_) byte = static_cast<char>(map(static_cast<unsigned char>(byte)));
  }
  template <class Keep>
  void filter(Keep keep);
  void prepend(std::string_view prefix);
  // Replaces text()[begin, end) of each match, in order, by `content`.
  void replace(std::span<const TextSpan> matches, std::string_view content);

 private:
  void splice(std::size_t begin, std::size_t end, std::span<const unicode::Step> steps, std::size_t dropped);

  std::string text_;
  std::vector<TextSpan> alignment_;
  TextSpan source_;
  bool aligned_ = false;
};

// Drops the code points for which `keep` is false.
template <class Keep>
void NormalizedText::filter(Keep keep) {
  std::vector<unicode::Step> steps;
  std::size_t dropped = 0;
  bool changed = false;
  for (std::size_t at = 0; at < text_.size();) {
    const auto [c, size] = unicode::decode(text_.data() + at);
    at += size;
    if (keep(c)) {
      steps.push_back({c, 0});
    } else {
      changed = true;
      if (steps.empty())
        ++dropped;
      else
        --steps.back().change;
    }
  }
  if (changed) rewrite(steps, dropped);
}

// A part of a text: a word for the model, or an added token, which is not divided.
struct Piece {
  std::uint32_t begin, end;  // bytes of Pieces::text
  TextSpan source;           // bytes of the given text; valid only if aligned
  TokenId token = -1;        // of an added token; -1: the model tokenizes the piece
};

// A text divided into pieces. All pieces are in one buffer, in order.
class Pieces {
 public:
  std::string text;
  std::vector<TextSpan> alignment;  // as in NormalizedText; empty if not aligned
  std::vector<Piece> pieces;
  bool aligned = false;
  // Pieces that are not added tokens represent their byte-level form (one letter per byte), which is not
  // written: BPE reads the bytes directly.
  bool byte_level = false;

  void clear(bool keep_alignment);
  std::size_t capacity_in_bytes() const {
    return text.capacity() + alignment.capacity() * sizeof(TextSpan) +
           (pieces.capacity() + scratch_.capacity()) * sizeof(Piece);
  }
  std::string_view view(const Piece& piece) const {
    return {text.data() + piece.begin, piece.end - piece.begin};
  }
  void append(const NormalizedText& part, TokenId token = -1);
  // The part [begin, end) of `text` as a separate piece, cut out of `whole`.
  Piece cut(const Piece& whole, std::uint32_t begin, std::uint32_t end) const;
  NormalizedText extract(const Piece& piece) const;

  // Splits every piece that is not an added token: cut_up(view, emit) calls emit(begin, end) with bytes of
  // the view. Empty parts are dropped.
  template <class CutUp>
  void split(CutUp cut_up);
  // Rewrites every piece that is not an added token: change(text) alters a NormalizedText.
  template <class Change>
  void rewrite(Change change);
  // Writes the byte-level form into the text.
  void write_byte_level();

 private:
  std::vector<Piece> scratch_;
};

template <class CutUp>
void Pieces::split(CutUp cut_up) {
  scratch_.clear();
  for (const Piece& piece : pieces) {
    if (piece.token >= 0) {
      scratch_.push_back(piece);
      continue;
    }
    cut_up(view(piece), [&](std::size_t begin, std::size_t end) {
      if (begin == end) return;
      const auto from = piece.begin + static_cast<std::uint32_t>(begin);
      const auto to = piece.begin + static_cast<std::uint32_t>(end);
      scratch_.push_back(aligned ? cut(piece, from, to) : Piece{from, to, {}, -1});
    });
  }
  pieces.swap(scratch_);
}

template <class Change>
void Pieces::rewrite(Change change) {
  Pieces result;
  result.clear(aligned);
  result.pieces.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    NormalizedText part = extract(piece);
    if (piece.token < 0) change(part);
    if (!part.text().empty()) result.append(part, piece.token);
  }
  text.swap(result.text);
  alignment.swap(result.alignment);
  pieces.swap(result.pieces);
}

}  // namespace attend::tokenizers
