// BertProcessing ([CLS] A [SEP] B [SEP]), RobertaProcessing (<s> A </s></s> B </s>) and ByteLevel, which only
// removes leading and trailing spaces of tokens from their offsets.
#include "base/error.h"
#include "tokenizers/steps/component.h"
#include "tokenizers/steps/encoding.h"
#include "tokenizers/steps/post_processor.h"
#include "tokenizers/text/byte_level.h"
#include "tokenizers/text/unicode.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

bool is_space(char32_t c) {
  return c == 0x120 || unicode::is(c, unicode::whitespace);
}  // U+0120: the byte ' '

void trim_offsets(Encoding& encoding, bool add_prefix_space) {
  for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
    const std::string& token = encoding.tokens[i];
    std::uint32_t leading = 0, trailing = 0;
    bool begun = false;
    for (std::size_t at = 0; at < token.size();) {
      const auto [c, size] = unicode::decode(token.data() + at);
      at += size;
      const bool space = is_space(c);
      begun = begun || !space;
      if (!begun) ++leading;
      trailing = space ? trailing + 1 : 0;
    }
    TextSpan& offsets = encoding.offsets[i];
    if (leading > 0) {
      // The one space before the text was added by us.
      const bool first = i == 0 || offsets.begin == 0;
      if (first && add_prefix_space && leading == 1) leading = 0;
      offsets.begin = std::min(offsets.begin + leading, offsets.end);
    }
    if (trailing > 0 && offsets.end >= trailing)
      offsets.end = std::max(offsets.end - trailing, offsets.begin);
  }
}

void trim_all_offsets(std::vector<Encoding>& sequences, bool add_prefix_space) {
  for (Encoding& sequence : sequences) {
    trim_offsets(sequence, add_prefix_space);
    for (Encoding& piece : sequence.overflowing) trim_offsets(piece, add_prefix_space);
  }
}

class ByteLevelPostProcessor : public PostProcessor {
 public:
  ByteLevelPostProcessor(const Json& json, const std::string& source) {
    const Fields read(json, source);
    add_prefix_space_ = read.flag({"add_prefix_space"}, true);
    trim_offsets_ = read.flag({"trim_offsets"}, true);
  }
  std::size_t added(bool) const override { return 0; }
  bool leaves_text(bool, Details details) const override {
    return !(trim_offsets_ && details == Details::all);
  }
  void apply(std::vector<Encoding>& sequences, bool, Details details) const override {
    if (trim_offsets_ && details == Details::all) trim_all_offsets(sequences, add_prefix_space_);
  }

 private:
  bool add_prefix_space_, trim_offsets_;
};

struct NamedToken {
  std::string token;
  TokenId id;

  // The format is ["[SEP]", 102].
  static NamedToken read(const Json& json, const char* name, const std::string& source) {
    const Json& value = component_field(json, name, source);
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_number_integer() ||
        value[1].get<std::int64_t>() < 0 || value[1].get<std::int64_t>() > INT32_MAX)
      fail("{}: {} must be a token and its id", source, name);
    return {value[0].get<std::string>(), value[1].get<TokenId>()};
  }
};

// Puts tokens before an encoding and after it.
Encoding enclosed(Encoding encoding, const NamedToken* front, const NamedToken& back, std::int32_t type,
                  Details details) {
  Encoding result;
  const std::vector<Encoding> overflowing = std::exchange(encoding.overflowing, {});
  if (front != nullptr) append_special(result, front->id, front->token, type, details);
  append(result, encoding);
  append_special(result, back.id, back.token, type, details);
  for (const Encoding& piece : overflowing)
    result.overflowing.push_back(enclosed(piece, front, back, type, details));
  return result;
}

class BertProcessing : public PostProcessor {
 public:
  BertProcessing(const Json& json, const std::string& source)
      : separator_(NamedToken::read(json, "sep", source)), begin_(NamedToken::read(json, "cls", source)) {}
  std::size_t added(bool pair) const override { return pair ? 3 : 2; }
  bool leaves_text(bool special_tokens, Details) const override { return !special_tokens; }
  void apply(std::vector<Encoding>& sequences, bool special_tokens, Details details) const override {
    if (!special_tokens) return;
    for (std::size_t i = 0; i < sequences.size(); ++i)
      sequences[i] =
          enclosed(std::move(sequences[i]), i == 0 ? &begin_ : nullptr, separator_, i == 0 ? 0 : 1, details);
  }

 private:
  NamedToken separator_, begin_;
};

class RobertaProcessing : public PostProcessor {
 public:
  RobertaProcessing(const Json& json, const std::string& source)
      : separator_(NamedToken::read(json, "sep", source)), begin_(NamedToken::read(json, "cls", source)) {
    const Fields read(json, source);
    trim_offsets_ = read.flag({"trim_offsets"}, true);
    add_prefix_space_ = read.flag({"add_prefix_space"}, true);
  }
  std::size_t added(bool pair) const override { return pair ? 4 : 2; }
  bool leaves_text(bool special_tokens, Details details) const override {
    return !special_tokens && details == Details::ids;
  }
  void apply(std::vector<Encoding>& sequences, bool special_tokens, Details details) const override {
    if (trim_offsets_ && details == Details::all) trim_all_offsets(sequences, add_prefix_space_);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      Encoding& sequence = sequences[i];
      const auto clear_types = [](Encoding& encoding) {
        encoding.type_ids.assign(encoding.type_ids.size(), 0);
      };
      clear_types(sequence);
      if (!special_tokens) continue;
      sequence = enclosed(std::move(sequence), i == 0 ? &begin_ : &separator_, separator_, 0, details);
      for (Encoding& piece : sequence.overflowing) clear_types(piece);
    }
  }

 private:
  NamedToken separator_, begin_;
  bool trim_offsets_, add_prefix_space_;
};

}  // namespace

std::unique_ptr<PostProcessor> make_byte_level_processor(const Json& json, const std::string& source) {
  return std::make_unique<ByteLevelPostProcessor>(json, source);
}
std::unique_ptr<PostProcessor> make_bert_processor(const Json& json, const std::string& source) {
  return std::make_unique<BertProcessing>(json, source);
}
std::unique_ptr<PostProcessor> make_roberta_processor(const Json& json, const std::string& source) {
  return std::make_unique<RobertaProcessing>(json, source);
}

}  // namespace attend::tokenizers
