#include "generation/scores/form_processors.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

class TextFormProcessor : public LogitsProcessor {
 public:
  TextFormProcessor(std::shared_ptr<const Grammar> grammar, bool forced)
      : grammar_(std::move(grammar)), forced_(forced) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    auto text = context.tokens.subspan(static_cast<std::size_t>(context.limits.prompt));
    if (forced_ && context.limits.prompt == 1) {
      if (text.empty()) return;
      text = text.subspan(1);
    }
    grammar_->apply(scores, text);
  }

 private:
  std::shared_ptr<const Grammar> grammar_;
  bool forced_;
};

class OwnRule : public LogitsProcessor {
 public:
  explicit OwnRule(ScoreRule rule) : rule_(std::move(rule)) {}
  void apply(std::span<float> scores, const ProcessorContext& context) const override {
    arg_max(scores);  // fails for NaN, which would be the model's fault
    rule_(context.number, context.tokens, scores);
    if (std::ranges::any_of(scores, [](float score) { return std::isnan(score); }))
      throw Error("a rule of the caller made scores that are not numbers (NaN)", ErrorKind::call);
  }

 private:
  ScoreRule rule_;
};

class SomethingLeft : public LogitsProcessor {
 public:
  void apply(std::span<float> scores, const ProcessorContext&) const override {
    if (std::ranges::all_of(scores, [](float score) { return score == kNever; }))
      fail(
          "no token may come next: the form (json_schema, regex, grammar) or the program's own rule, and "
          "other "
          "fields (min_new_tokens, bad_words_ids, suppress_tokens...) together rule out every one; leave one "
          "of them out");
  }
};

}  // namespace

Processor text_form(std::shared_ptr<const Grammar> grammar, bool forced) {
  return std::make_unique<TextFormProcessor>(std::move(grammar), forced);
}

Processor own_rule(ScoreRule rule) {
  return std::make_unique<OwnRule>(std::move(rule));
}

Processor something_left() {
  return std::make_unique<SomethingLeft>();
}

}  // namespace attend
