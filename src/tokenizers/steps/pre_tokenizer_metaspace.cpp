#include "base/error.h"
#include "tokenizers/steps/pre_tokenizer.h"
#include "tokenizers/text/metaspace.h"
#include "tokenizers/text/pattern.h"
#include "tokenizers/text/split.h"

namespace attend::tokenizers {
namespace {

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  using Prepend = MetaspaceFields::Prepend;
  explicit MetaspacePreTokenizer(MetaspaceFields fields)
      : fields_(std::move(fields)), letter_(Pattern::text(fields_.letter)) {}

  void apply(Pieces& pieces) const override {
    std::vector<TextSpan> matches;
    const Pattern space = Pattern::text(" ");
    pieces.rewrite([&](NormalizedText& text) {
      space.find_all(text.text(), matches);
      text.replace(matches, fields_.letter);
      const bool wanted = fields_.prepend == Prepend::always ||
                          (fields_.prepend == Prepend::first && text.source().begin == 0);
      if (wanted && !text.text().starts_with(fields_.letter)) text.prepend(fields_.letter);
    });
    if (!fields_.split) return;
    std::vector<SplitPart> parts;
    pieces.split([&](std::string_view text, auto emit) {
      letter_.find_all(text, matches);
      list_parts(text.size(), matches, false, parts);
      emit_parts(parts, SplitBehavior::merged_with_next, emit);
    });
  }
  bool needs_alignment() const override { return fields_.prepend == Prepend::first; }

 private:
  MetaspaceFields fields_;
  Pattern letter_;
};

}  // namespace

MetaspaceFields MetaspaceFields::read(const Json& json, const std::string& source) {
  const Fields read(json, source);
  MetaspaceFields result;
  result.letter = read.text({"replacement"});
  if (unicode::count(result.letter) != 1)
    fail("{}: replacement is '{}', expected one character", source, result.letter);
  const std::string scheme = read.text({"prepend_scheme"}, "always");
  if (scheme == "always")
    result.prepend = Prepend::always;
  else if (scheme == "first")
    result.prepend = Prepend::first;
  else if (scheme == "never")
    result.prepend = Prepend::never;
  else
    fail("{}: prepend_scheme is '{}', expected always, first or never", source, scheme);
  // A field of older files.
  if (!read.flag({"add_prefix_space"}, true)) {
    if (read.has({"prepend_scheme"}) && result.prepend != Prepend::never)
      fail("{}: add_prefix_space is false, but prepend_scheme is '{}'", source, scheme);
    result.prepend = Prepend::never;
  }
  result.split = read.flag({"split"}, true);
  return result;
}

std::unique_ptr<PreTokenizer> make_metaspace_pre_tokenizer(const Json& json, const std::string& source) {
  return std::make_unique<MetaspacePreTokenizer>(MetaspaceFields::read(json, source));
}

}  // namespace attend::tokenizers
