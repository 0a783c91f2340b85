// UnicodeScripts: splits where the script changes (Unicode Standard Annex #24); kana and Han are one script,
// as in SentencePiece. Characters without a script, such as the space, belong to the text before them.
#include "tokenizers/steps/pre_tokenizer.h"
#include "tokenizers/text/unicode_scripts.h"

#include <algorithm>
#include <iterator>

namespace attend::tokenizers {
namespace {

constexpr int no_script = -1;

int script_of(char32_t c) {
  const auto* after =
      std::upper_bound(std::begin(unicode::scripts), std::end(unicode::scripts), c,
                       [](char32_t value, const unicode::ScriptRange& range) { return value < range.first; });
  if (after == std::begin(unicode::scripts) || c > std::prev(after)->last) return no_script;
  return std::prev(after)->script;
}

class UnicodeScripts : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto emit) {
      std::size_t begin = 0;
      int script = no_script;
      for (std::size_t at = 0; at < text.size();) {
        const auto [c, size] = unicode::decode(text.data() + at);
        if (const int next = script_of(c); next != no_script && next != script) {
          // Text before the first script is dropped, as in `tokenizers`.
          if (script != no_script) emit(begin, at);
          begin = at;
          script = next;
        }
        at += size;
      }
      if (script != no_script) emit(begin, text.size());
    });
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_scripts_pre_tokenizer() {
  return std::make_unique<UnicodeScripts>();
}

}  // namespace attend::tokenizers
