// Token tags: accuracy. If the tags mark entities (B-PER, I-PER, ...), also precision, recall and F1 of
// entities, as in seqeval's default mode, which is lenient: I-PER after O also begins an entity. Supports
// IOB1, IOB2 and IOBES.
#pragma once

#include "metrics/classification.h"

#include <span>

namespace attend {

// An entity in a sequence of tags: tokens begin .. end - 1.
struct TaggedEntity {
  std::string type;
  std::int64_t begin, end;

  bool operator==(const TaggedEntity&) const = default;
};
std::vector<TaggedEntity> tagged_entities(std::span<const std::string> tags);

class TagMetric : public Metric {
 public:
  // The tags by label. They are entities' if one begins with B- or I-. Error for an empty tag among them.
  explicit TagMetric(std::vector<std::string> tags);

  // The labels of the tokens of one sequence, those that count. Error if there are more of one than of the
  // other, and for a label without a tag.
  void add(std::span<const std::int64_t> predicted, std::span<const std::int64_t> expected);

  // Entities: precision, recall and f1 of all of them (0 where a division by zero is in them), and accuracy
  // of tokens. Otherwise accuracy and macro_f1 of tokens, and f1, which is macro_f1. Accuracy is NaN without
  // tokens.
  Figures figures() const override;

 private:
  std::vector<std::string> tags_;
  bool entities_;
  ClassificationMetric tokens_;
  LabelCounts counts_;  // of entities
};

}  // namespace attend
