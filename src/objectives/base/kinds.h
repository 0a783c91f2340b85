// The records of all objectives, each defined at the end of its file; registry.cpp lists them.
#pragma once

#include "objectives/base/registry.h"

namespace attend {

extern const ObjectiveKind kSequenceToSequence, kCausalLanguageModel, kMaskedLanguageModel, kClassification,
    kRegression, kMultiLabel, kNextSentence, kSentenceOrder, kReplacedTokens, kTranslationLanguageModel,
    kSpanCorruption, kDenoising, kPermutationLanguageModel, kTokenClassification, kQuestionAnswering,
    kMultipleChoice, kPairs, kScoredPairs, kImageClassification, kMaskedImages, kChat, kPreferences;

}  // namespace attend
