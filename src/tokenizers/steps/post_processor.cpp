#include "tokenizers/steps/post_processor.h"

#include "base/error.h"
#include "tokenizers/steps/component.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

class SequencePostProcessor : public PostProcessor {
 public:
  SequencePostProcessor(const Json& json, const std::string& source, int depth)
      : parts_(make_components<PostProcessor>(json, "processors", source, depth, make_post_processor)) {}
  std::size_t added(bool pair) const override {
    std::size_t sum = 0;
    for (const auto& part : parts_) sum += part->added(pair);
    return sum;
  }
  bool leaves_text(bool special_tokens, Details details) const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const auto& part) { return part->leaves_text(special_tokens, details); });
  }
  void apply(std::vector<Encoding>& sequences, bool special_tokens, Details details) const override {
    for (const auto& part : parts_) part->apply(sequences, special_tokens, details);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
};

}  // namespace

std::unique_ptr<PostProcessor> make_post_processor(const Json& json, const std::string& source, int depth) {
  const std::string type = component_type(json, source, depth);
  if (type == "TemplateProcessing") return make_template_processor(json, source);
  if (type == "BertProcessing") return make_bert_processor(json, source);
  if (type == "RobertaProcessing") return make_roberta_processor(json, source);
  if (type == "ByteLevel") return make_byte_level_processor(json, source);
  if (type == "Sequence") return std::make_unique<SequencePostProcessor>(json, source, depth);
  fail("{}: unknown post-processor '{}'", source, type);
}

}  // namespace attend::tokenizers
