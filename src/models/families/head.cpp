#include "models/families/head.h"

#include "base/error.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend {

bool has_head(std::string_view name, Head head) {
  const bool xlnet = name.starts_with("XLNet"), xlm = name == "XLMWithLMHeadModel";
  const bool nomic = name == "NomicBertForPreTraining";  // predicts masked words alone
  switch (head) {
    case Head::body:
      return name.ends_with("Model") && !name.ends_with("HeadModel") && !name.ends_with("HeadsModel") &&
             !name.ends_with("MTModel") && !name.ends_with("EncoderDecoderModel");
    case Head::causal_language_model:  // for XLM, its config.json decides whether it is causal
      return (name.ends_with("LMHeadModel") && !xlnet) || name.ends_with("ForCausalLM") || xlm;
    case Head::masked_language_model:
      return name.ends_with("ForMaskedLM") || xlm || nomic;
    case Head::permutation_language_model:
      return name == "XLNetLMHeadModel";
    case Head::pretraining:
      return name.ends_with("ForPreTraining") && !name.starts_with("Electra") && !nomic;
    case Head::replaced_tokens:
      return name == "ElectraForPreTraining";
    case Head::conditional_generation:
      return name.ends_with("ForConditionalGeneration") || name.ends_with("MTModel") ||
             name == "EncoderDecoderModel";
    case Head::sequence_classification:
      return name.ends_with("ForSequenceClassification");
    case Head::token_classification:
      return name.ends_with("ForTokenClassification");
    case Head::question_answering:  // XLNet and XLM call this one "Simple"; other families have only this one
      return name.ends_with("ForQuestionAnsweringSimple") ||
             (name.ends_with("ForQuestionAnswering") && !xlnet && !name.starts_with("XLMFor"));
    case Head::multiple_choice:
      return name.ends_with("ForMultipleChoice");
    case Head::image_classification:
      return name.ends_with("ForImageClassification");
    case Head::masked_images:
      return name.ends_with("ForMaskedImageModeling");
  }
  return false;
}

const char* describe(Head head) {
  switch (head) {
    case Head::body:
      return "a body without a head";
    case Head::causal_language_model:
      return "a causal language model";
    case Head::masked_language_model:
      return "a masked language model";
    case Head::permutation_language_model:
      return "a permutation language model";
    case Head::pretraining:
      return "a model that predicts masked words and whether a text follows another";
    case Head::replaced_tokens:
      return "a model that detects replaced tokens";
    case Head::conditional_generation:
      return "a model that generates a text from another";
    case Head::sequence_classification:
      return "a model that classifies texts";
    case Head::token_classification:
      return "a model that classifies tokens";
    case Head::question_answering:
      return "a model that finds answers in a text";
    case Head::multiple_choice:
      return "a multiple-choice model";
    case Head::image_classification:
      return "a model that classifies images";
    case Head::masked_images:
      return "a model that reconstructs masked parts of images";
  }
  return "a model";
}

std::string architecture_for(const Family& family, Head head, std::string_view own) {
  const auto find = [&](const Family& each) {
    return std::ranges::find_if(each.architectures,
                                [&](std::string_view name) { return has_head(name, head); });
  };
  const auto& all = family.architectures;
  if (has_head(own, head) && std::ranges::find(all, own) != all.end()) return std::string(own);
  if (const auto found = find(family); found != all.end()) return std::string(*found);
  std::vector<std::string_view> others;
  for (const Family* each : families())
    if (find(*each) != each->architectures.end()) others.push_back(each->model_type);
  fail("{} has no architecture that is {}; these families have one: {}", family.model_type, describe(head),
       fmt::join(others, ", "));
}

}  // namespace attend
