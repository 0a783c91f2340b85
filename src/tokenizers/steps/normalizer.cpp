#include "tokenizers/steps/normalizer.h"

#include "base/error.h"
#include "tokenizers/steps/component.h"
#include "tokenizers/text/byte_level.h"
#include "tokenizers/text/pattern.h"

namespace attend::tokenizers {
namespace {

using unicode::Step;

class Lowercase : public Normalizer {
 public:
  void apply(NormalizedText& text) const override { lowercase(text); }
};

class StripAccents : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    if (unicode::is_ascii(text.text())) return;
    text.filter([](char32_t c) { return !unicode::is(c, unicode::mark); });
  }
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(const Json& json, const std::string& source) {
    const Fields read(json, source);
    left_ = read.flag({"strip_left"}, true);
    right_ = read.flag({"strip_right"}, true);
  }
  void apply(NormalizedText& text) const override {
    const std::string& old = text.text();
    std::size_t end = old.size(), last = 0;  // last: the end of the last code point that is not white space
    bool begun = !left_;
    for (std::size_t at = 0; at < old.size();) {
      const auto [c, size] = unicode::decode(old.data() + at);
      at += size;
      if (!unicode::is(c, unicode::whitespace)) last = at;
    }
    if (right_) end = last;
    std::size_t seen = 0;
    text.filter([&](char32_t c) {
      begun = begun || !unicode::is(c, unicode::whitespace);
      const bool keep = begun && seen < end;
      seen += unicode::encoded_size(c);
      return keep;
    });
  }

 private:
  bool left_, right_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(const Json& json, const std::string& source)
      : pattern_(Pattern::from_json(component_field(json, "pattern", source), source + ".pattern")),
        content_(Fields(json, source).text({"content"})) {}
  void apply(NormalizedText& text) const override {
    std::vector<TextSpan> matches;
    pattern_.find_all(text.text(), matches);
    text.replace(matches, content_);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  Prepend(const Json& json, const std::string& source) : prefix_(Fields(json, source).text({"prepend"})) {}
  void apply(NormalizedText& text) const override { text.prepend(prefix_); }

 private:
  std::string prefix_;
};

// The clean-up of early neural machine translation systems, as in SentencePiece's "nmt" rules.
class Nmt : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    text.filter([](char32_t c) {
      return !((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
               c == 0x9F);
    });
    std::vector<Step> steps;
    for (std::size_t at = 0; at < text.text().size();) {
      const auto [c, size] = unicode::decode(text.text().data() + at);
      at += size;
      const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                         c == 0xFEFF || c == 0xFFFD;
      steps.push_back({space ? U' ' : c, 0});
    }
    text.rewrite(steps);
  }
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    if (text.text().empty()) return;
    std::vector<Step> steps;
    for (const char byte : text.text()) {
      const auto letter = unicode::decode(byte_level_letter(static_cast<unsigned char>(byte)).data()).value;
      steps.push_back({letter, (byte & 0xC0) == 0x80 ? 1 : 0});
    }
    text.rewrite(steps);
  }
};

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> parts) : parts_(std::move(parts)) {}
  void apply(NormalizedText& text) const override {
    for (const auto& part : parts_) part->apply(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

}  // namespace

void lowercase(NormalizedText& text) {
  if (unicode::is_ascii(text.text())) {
    text.map_bytes([](unsigned char byte) { return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte; });
    return;
  }
  std::vector<Step> steps;
  steps.reserve(text.text().size());
  for (std::size_t at = 0; at < text.text().size();) {
    const auto [c, size] = unicode::decode(text.text().data() + at);
    at += size;
    unicode::append_lowercase(c, steps);
  }
  text.rewrite(steps);
}

std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> parts) {
  return std::make_unique<SequenceNormalizer>(std::move(parts));
}

std::unique_ptr<Normalizer> make_normalizer(const Json& json, const std::string& source, int depth) {
  const std::string type = component_type(json, source, depth);
  using unicode::Form;
  if (type == "BertNormalizer" || type == "Bert") return make_bert_normalizer(json, source);
  if (type == "Sequence")
    return make_sequence(make_components<Normalizer>(json, "normalizers", source, depth, make_normalizer));
  if (type == "NFC") return make_form_normalizer(Form::nfc);
  if (type == "NFD") return make_form_normalizer(Form::nfd);
  if (type == "NFKC") return make_form_normalizer(Form::nfkc);
  if (type == "NFKD") return make_form_normalizer(Form::nfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Strip") return std::make_unique<StripNormalizer>(json, source);
  if (type == "Replace") return std::make_unique<ReplaceNormalizer>(json, source);
  if (type == "Prepend") return std::make_unique<Prepend>(json, source);
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>();
  if (type == "Precompiled") return make_precompiled_normalizer(json, source);
  fail("{}: unknown normalizer '{}'", source, type);
}

}  // namespace attend::tokenizers
