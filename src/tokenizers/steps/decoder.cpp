#include "tokenizers/steps/decoder.h"

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/steps/component.h"
#include "tokenizers/text/byte_level.h"
#include "tokenizers/text/clean_up.h"
#include "tokenizers/text/metaspace.h"
#include "tokenizers/text/pattern.h"
#include "tokenizers/text/unicode.h"

#include <algorithm>
#include <charconv>

namespace attend::tokenizers {
namespace {

using Texts = std::vector<std::string>;

class ByteLevelDecoder : public Decoder {
 public:
  void apply(Texts& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += in_the_middle(token);
    tokens = {repair_utf8(bytes)};
  }
  std::string in_the_middle(std::string token) const override {
    std::string bytes;
    for (std::size_t at = 0; at < token.size();) {
      const auto [c, size] = unicode::decode(token.data() + at);
      const int byte = byte_of_letter(c);
      if (byte < 0) return token;  // not a byte-level token: it stays unchanged
      bytes += static_cast<char>(byte);
      at += size;
    }
    return bytes;
  }
};

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(const Json& json, const std::string& source) {
    const Fields read(json, source);
    prefix_ = read.text({"prefix"}, "##");
    clean_up_ = read.flag({"cleanup"}, true);
  }
  void apply(Texts& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = i == 0 ? cleaned(std::move(tokens[i])) : in_the_middle(std::move(tokens[i]));
  }
  std::string in_the_middle(std::string token) const override {
    if (token.starts_with(prefix_))
      token.erase(0, prefix_.size());
    else
      token.insert(0, " ");
    return cleaned(std::move(token));
  }

 private:
  std::string cleaned(std::string token) const {
    if (clean_up_) clean_up(token, /*contract_do_not=*/true);
    return token;
  }
  std::string prefix_;
  bool clean_up_;
};

class BpeDecoder : public Decoder {
 public:
  BpeDecoder(const Json& json, const std::string& source)
      : suffix_(Fields(json, source).text({"suffix"}, "</w>")) {}
  void apply(Texts& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }
  std::string in_the_middle(std::string token) const override {
    replace_all(token, suffix_, " ");
    return token;
  }

 private:
  std::string suffix_;
};

class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(MetaspaceFields fields) : fields_(std::move(fields)) {}
  void apply(Texts& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool begins = i == 0 && fields_.prepend != MetaspaceFields::Prepend::never;
      replace_all(tokens[i], fields_.letter, begins ? "" : " ");
    }
  }
  std::string in_the_middle(std::string token) const override {
    replace_all(token, fields_.letter, " ");
    return token;
  }

 private:
  MetaspaceFields fields_;
};

// Connectionist temporal classification: repeated tokens become one, the padding token is silence.
class Ctc : public Decoder {
 public:
  Ctc(const Json& json, const std::string& source) {
    const Fields read(json, source);
    padding_ = read.text({"pad_token"}, "<pad>");
    delimiter_ = read.text({"word_delimiter_token"}, "|");
    clean_up_ = read.flag({"cleanup"}, true);
  }
  void apply(Texts& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      replace_all(token, padding_, "");
      if (!clean_up_) continue;
      clean_up(token, /*contract_do_not=*/true);
      replace_all(token, delimiter_, " ");
    }
    std::erase(tokens, "");
  }

 private:
  std::string padding_, delimiter_;
  bool clean_up_;
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(const Json& json, const std::string& source)
      : pattern_(Pattern::from_json(component_field(json, "pattern", source), source + ".pattern")),
        content_(Fields(json, source).text({"content"})) {}
  void apply(Texts& tokens) const override {
    std::vector<TextSpan> matches;
    for (std::string& token : tokens) {
      pattern_.find_all(token, matches);
      for (auto match = matches.rbegin(); match != matches.rend(); ++match)
        token.replace(match->begin, match->end - match->begin, content_);
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class FuseDecoder : public Decoder {
 public:
  void apply(Texts& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {all};
  }
};

class StripDecoder : public Decoder {
 public:
  StripDecoder(const Json& json, const std::string& source) {
    const Fields read(json, source);
    content_ = read.text({"content"});
    if (unicode::count(content_) != 1) fail("{}: content is '{}', expected one character", source, content_);
    start_ = read.integer({"start"}, 0, 0);
    stop_ = read.integer({"stop"}, 0, 0);
  }
  void apply(Texts& tokens) const override {
    for (std::string& token : tokens) {
      for (std::int64_t i = 0; i < start_ && token.starts_with(content_); ++i)
        token.erase(0, content_.size());
      for (std::int64_t i = 0; i < stop_ && token.ends_with(content_); ++i)
        token.resize(token.size() - content_.size());
    }
  }
  // In real files it strips the ends of a text that was fused.
  std::string in_the_middle(std::string token) const override { return token; }

 private:
  std::string content_;
  std::int64_t start_, stop_;
};

// <0x..> tokens are bytes. If a run of them is not valid UTF-8, each byte becomes U+FFFD.
class ByteFallback : public Decoder {
 public:
  void apply(Texts& tokens) const override {
    Texts result;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (!find_invalid_utf8(bytes))
        result.push_back(bytes);
      else
        result.insert(result.end(), bytes.size(), "\uFFFD");
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byte_of(token); byte >= 0) {
        bytes += static_cast<char>(byte);
      } else {
        flush();
        result.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(result);
  }
  std::string in_the_middle(std::string token) const override {
    const int byte = byte_of(token);
    return byte >= 0 ? std::string(1, static_cast<char>(byte)) : token;
  }

 private:
  static int byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    // Rust also parses "+5" as a number.
    const char* begin = token.data() + (token[3] == '+' ? 4 : 3);
    unsigned value = 0;
    const auto [end, error] = std::from_chars(begin, token.data() + 5, value, 16);
    return error == std::errc() && end == token.data() + 5 ? static_cast<int>(value) : -1;
  }
};

class SequenceDecoder : public Decoder {
 public:
  SequenceDecoder(const Json& json, const std::string& source, int depth)
      : parts_(make_components<Decoder>(json, "decoders", source, depth, make_decoder)) {}
  void apply(Texts& tokens) const override {
    for (const auto& part : parts_) part->apply(tokens);
  }
  std::string in_the_middle(std::string token) const override {
    for (const auto& part : parts_) token = part->in_the_middle(std::move(token));
    return token;
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Json& json, const std::string& source, int depth) {
  const std::string type = component_type(json, source, depth);
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "WordPiece") return std::make_unique<WordPieceDecoder>(json, source);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(json, source);
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(MetaspaceFields::read(json, source));
  if (type == "CTC") return std::make_unique<Ctc>(json, source);
  if (type == "Sequence") return std::make_unique<SequenceDecoder>(json, source, depth);
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(json, source);
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "Strip") return std::make_unique<StripDecoder>(json, source);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  fail("{}: unknown decoder '{}'", source, type);
}

}  // namespace attend::tokenizers
