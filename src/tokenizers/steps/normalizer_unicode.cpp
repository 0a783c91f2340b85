// Unicode's normal forms (Unicode Standard Annex #15).
#include "tokenizers/steps/normalizer.h"

namespace attend::tokenizers {
namespace {

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(unicode::Form form) : form_(form) {}
  void apply(NormalizedText& text) const override { normalize(text, form_); }

 private:
  unicode::Form form_;
};

bool has_unstable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, size] = unicode::decode(text.data() + at);
    at += size;
    if (size > 1 && unicode::is(c, unicode::unstable)) return true;
  }
  return false;
}

}  // namespace

void normalize(NormalizedText& text, unicode::Form form) {
  if (!has_unstable(text.text())) return;
  std::vector<unicode::Step> steps;
  steps.reserve(text.text().size());
  unicode::normalize(text.text(), form, steps);
  text.rewrite(steps);
}

std::unique_ptr<Normalizer> make_form_normalizer(unicode::Form form) {
  return std::make_unique<FormNormalizer>(form);
}

}  // namespace attend::tokenizers
