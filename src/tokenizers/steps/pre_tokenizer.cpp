#include "tokenizers/steps/pre_tokenizer.h"

#include "base/error.h"
#include "tokenizers/steps/component.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

// Drops white space and makes each punctuation mark a separate word (BERT's BasicTokenizer).
class BertPreTokenizer : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto emit) {
      std::size_t word = 0;  // the beginning of the word at `at`
      for (std::size_t at = 0; at < text.size();) {
        const auto [c, size] = unicode::decode(text.data() + at);
        const std::uint16_t classes = unicode::classes(c);
        if ((classes & (unicode::whitespace | unicode::punctuation)) != 0) {
          emit(word, at);
          if ((classes & unicode::whitespace) == 0) emit(at, at + size);
          word = at + size;
        }
        at += size;
      }
      emit(word, text.size());
    });
  }
};

class WhitespaceSplit : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto emit) {
      std::size_t word = 0;
      for (std::size_t at = 0; at < text.size();) {
        const auto [c, size] = unicode::decode(text.data() + at);
        if (unicode::is(c, unicode::whitespace)) {
          emit(word, at);
          word = at + size;
        }
        at += size;
      }
      emit(word, text.size());
    });
  }
};

// \w+|[^\w\s]+
class Whitespace : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto emit) {
      constexpr int kinds = unicode::whitespace | unicode::word;
      std::size_t begin = 0;
      int kind = unicode::whitespace;
      for (std::size_t at = 0; at < text.size();) {
        const auto [c, size] = unicode::decode(text.data() + at);
        const int next = unicode::classes(c) & kinds;
        if (next != kind) {
          if (kind != unicode::whitespace) emit(begin, at);
          begin = at;
          kind = next;
        }
        at += size;
      }
      if (kind != unicode::whitespace) emit(begin, text.size());
    });
  }
};

class FixedLength : public PreTokenizer {
 public:
  FixedLength(const Json& json, const std::string& source)
      : length_(Fields(json, source).integer({"length"}, 5)) {}
  void apply(Pieces& pieces) const override {
    pieces.split([this](std::string_view text, auto emit) {
      std::size_t begin = 0;
      std::int64_t count = 0;
      for (std::size_t at = 0; at < text.size();) {
        at += unicode::decode(text.data() + at).size;
        if (++count == length_ || at == text.size()) {
          emit(begin, at);
          begin = at;
          count = 0;
        }
      }
    });
  }

 private:
  std::int64_t length_;
};

class SequencePreTokenizer : public PreTokenizer {
 public:
  SequencePreTokenizer(const Json& json, const std::string& source, int depth)
      : parts_(make_components<PreTokenizer>(json, "pretokenizers", source, depth, make_pre_tokenizer)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& part : parts_) {
      pieces.write_byte_level();  // steps after a ByteLevel see its letters
      part->apply(pieces);
    }
  }
  bool needs_alignment() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->needs_alignment(); });
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& json, const std::string& source, int depth) {
  const std::string type = component_type(json, source, depth);
  if (type == "BertPreTokenizer") return std::make_unique<BertPreTokenizer>();
  if (type == "ByteLevel") return make_byte_level_pre_tokenizer(json, source);
  if (type == "Delimiter" || type == "CharDelimiterSplit") return make_delimiter_pre_tokenizer(json, source);
  if (type == "Metaspace") return make_metaspace_pre_tokenizer(json, source);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return std::make_unique<WhitespaceSplit>();
  if (type == "Sequence") return std::make_unique<SequencePreTokenizer>(json, source, depth);
  if (type == "Split") return make_split_pre_tokenizer(json, source);
  if (type == "Punctuation") return make_punctuation_pre_tokenizer(json, source);
  if (type == "Digits") return make_digits_pre_tokenizer(json, source);
  if (type == "FixedLength") return std::make_unique<FixedLength>(json, source);
  if (type == "UnicodeScripts") return make_scripts_pre_tokenizer();
  fail("{}: unknown pre-tokenizer '{}'", source, type);
}

}  // namespace attend::tokenizers
