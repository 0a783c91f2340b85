// SentencePiece's own normalization (Kudo and Richardson 2018, arXiv:1808.06226): applies the longest rule at
// every position, joins runs of spaces, turns spaces into the visible letter U+2581, and adds one before the
// text. O(n m) for rules of at most m bytes. `tokenizers` does almost the same, but not exactly
// (normalizer_precompiled.cpp).
#include "base/error.h"
#include "tokenizers/sentencepiece/sentencepiece.h"
#include "tokenizers/text/ascii.h"
#include "tokenizers/text/charsmap.h"
#include "tokenizers/text/metaspace.h"
#include "tokenizers/text/trie.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace attend::tokenizers {
namespace {

class SentencePiece : public Normalizer {
 public:
  SentencePiece(const SentencePieceFile& file, const std::string& source)
      : add_prefix_(file.add_dummy_prefix),
        remove_spaces_(file.remove_extra_whitespaces),
        space_(file.escape_whitespaces ? space_letter : " "),
        suffix_(file.whitespace_as_suffix) {
    if (!file.charsmap.empty())
      rules_ = Charsmap(file.charsmap, source + ": normalizer_spec.precompiled_charsmap");
    space_.copy(visible_space_.data(), visible_space_.size());
    for (unsigned byte = 1; byte < 0x80; ++byte) plain_[byte] = rules_.leaves_ascii(static_cast<char>(byte));
    std::vector<Trie::Entry> kept;
    for (const SentencePieceFile::Piece& piece : file.pieces) {
      if (piece.type != SentencePieceFile::Type::user_defined || piece.text.empty()) continue;
      kept.push_back({piece.text, 0});
      plain_[static_cast<unsigned char>(piece.text[0])] = false;
    }
    kept_ = Trie(std::move(kept));
    all_plain_ = std::all_of(&plain_['!'], &plain_['~'] + 1, [](bool plain) { return plain; });
  }

  void apply(NormalizedText& text) const override {
    if (text.text().empty()) return;
    Output output{text, {}, {}};
    const std::string_view old = text.text();
    output.text.reserve(old.size() + old.size() / 2);  // a space becomes three bytes
    std::size_t at = 0;
    while (remove_spaces_ && at < old.size() && is_plain_space(old, at)) ++at;
    // No rule turns two plain characters into a space.
    if (remove_spaces_ && at < old.size() && count_plain(ascii::eight_bytes(old, at)) < 2) {
      for (Step step = next(old, at); step.size > 0 && step.replacement == " "; step = next(old, at))
        at += step.size;
    }
    if (at < old.size()) {
      if (add_prefix_ && !suffix_) output.add(space_, at);
      rewrite(old, at, output);
      if (remove_spaces_)
        while (output.text.ends_with(space_)) output.drop(space_.size());
      if (add_prefix_ && suffix_) output.add(space_, old.size());
    }
    text = NormalizedText(std::move(output.text), std::move(output.alignment), text.source(), text.aligned());
  }

 private:
  struct Step {
    std::size_t size;  // of the text that is read; 0: the end of the text
    std::string_view replacement;
  };
  struct Output {
    const NormalizedText& from;
    std::string text;
    std::vector<TextSpan> alignment;

    // Appends `content`, which represents [at, at + size) of the old text.
    void add(std::string_view content, std::size_t at, std::size_t size = 0) {
      text += content;
      if (text.size() > max_text) fail("a text grows to more than {} bytes when normalized", max_text);
      if (!from.aligned()) return;
      const auto& old = from.alignment();
      TextSpan source{};
      if (at < old.size()) source = {old[at].begin, size > 0 ? old[at + size - 1].end : old[at].begin};
      alignment.resize(text.size(), source);
    }
    // Only records where `count` bytes come from: each becomes `size` bytes.
    void align(std::size_t at, std::size_t count, std::size_t size = 1) {
      if (!from.aligned()) return;
      for (std::size_t i = 0; i < count; ++i)
        alignment.insert(alignment.end(), size, from.alignment()[at + i]);
    }
    void drop(std::size_t size) {
      text.resize(text.size() - size);
      if (from.aligned()) alignment.resize(text.size());
    }
  };

  // The text at `at` that is replaced, and its replacement.
  Step next(std::string_view text, std::size_t at) const {
    if (at == text.size()) return {0, {}};
    text.remove_prefix(at);
    std::size_t size = 0;
    kept_.find_prefixes(text, [&size](std::size_t length, TokenId) { size = length; });
    if (size > 0) return {size, text.substr(0, size)};
    if (const auto rule = rules_.find_longest(text)) return {rule->length, rule->replacement};
    size = unicode::decode(text.data()).size;
    return {size, text.substr(0, size)};
  }

  // Copies text from `at` on as long as nothing changes except that spaces become visible; returns where that
  // ends. It copies some bytes at a time and then counts them. Only ASCII may follow plain ASCII: another
  // character might be a mark that joins it.
  std::size_t rewrite_plain(std::string_view old, std::size_t at, bool& after_space, Output& output) const {
    std::array<char, 256> text;
    std::size_t size = 0;
    while (at < old.size() && size + 16 <= text.size()) {
      const std::uint64_t bytes = ascii::eight_bytes(old, at);
      unsigned count = std::min(count_plain(bytes), 7U);
      const auto next = static_cast<unsigned char>(bytes >> 8 * count);
      if (next >= 0x80 && count > 0) --count;
      std::memcpy(&text[size], &bytes, sizeof bytes);
      output.align(at, count);
      size += count;
      at += count;
      if (count > 0) after_space = false;
      if (next == ' ' && is_plain_space(old, at)) {
        if (!after_space) {
          std::memcpy(&text[size], visible_space_.data(), visible_space_.size());
          output.align(at, 1, space_.size());
          size += space_.size();
        }
        after_space = remove_spaces_;
        ++at;
      } else if (count < 7) {
        break;
      }
    }
    output.text.append(text.data(), size);
    return at;
  }

  // The number of bytes, from the first of eight on, that are ASCII characters without a rule, excluding
  // spaces.
  unsigned count_plain(std::uint64_t bytes) const {
    if (all_plain_) return ascii::count_visible(bytes);
    unsigned count = 0;
    for (; count < 8 && plain_[bytes & 0xFF] && (bytes & 0xFF) != ' '; ++count) bytes >>= 8;
    return count;
  }

  bool is_plain_space(std::string_view text, std::size_t at) const {
    return text[at] == ' ' && plain_[' '] &&
           (at + 1 == text.size() || static_cast<unsigned char>(text[at + 1]) < 0x80);
  }

  void rewrite(std::string_view old, std::size_t at, Output& output) const {
    bool after_space = remove_spaces_;
    while (at < old.size()) {
      if (const std::size_t end = rewrite_plain(old, at, after_space, output); end > at) {
        at = end;
        continue;
      }
      const Step step = next(old, at);
      std::string_view content = step.replacement;
      while (after_space && content.starts_with(' ')) content.remove_prefix(1);
      for (std::size_t i = 0; i < content.size();) {
        const std::size_t size = unicode::decode(content.data() + i).size;
        output.add(content[i] == ' ' ? space_ : content.substr(i, size), at, step.size);
        i += size;
      }
      if (!content.empty()) after_space = remove_spaces_ && content.ends_with(' ');
      at += step.size;
      // A rule ends within a character only in a damaged file.
      while (at < old.size() && (old[at] & 0xC0) == 0x80) ++at;
    }
  }

  static constexpr std::size_t max_text = std::size_t{1} << 31;

  Charsmap rules_;
  std::array<bool, 256> plain_{};  // ASCII characters that no rule begins with
  bool all_plain_;                 // whether all visible ones are plain
  Trie kept_;                      // user-defined symbols, to which no rule applies
  bool add_prefix_, remove_spaces_;
  std::string_view space_;
  std::array<char, 4> visible_space_{};  // the visible space, padded with zeros
  bool suffix_;
};

}  // namespace

std::unique_ptr<Normalizer> make_sentencepiece_normalizer(const SentencePieceFile& file,
                                                          const std::string& source) {
  return std::make_unique<SentencePiece>(file, source);
}

}  // namespace attend::tokenizers
