#include "tokenizers/sentencepiece_families.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

using Family = SentencePieceFamily;
using Ids = Family::Ids;

const std::vector<Family> families = {
    {.names = {"T5", "t5", "MT5", "mt5", "umt5"},
     .roles = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
     .single = "$A eos_token",
     .pair = "$A eos_token $B eos_token",
     .sentinels = 100},
    {.names = {"XLMRoberta", "xlm-roberta", "xlm-roberta-xl"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"},
               {"mask_token", "<mask>", true}},
     .single = "cls_token $A sep_token",
     .pair = "cls_token $A sep_token sep_token $B sep_token",
     .ids = Ids::fairseq},
    {.names = {"Albert", "albert"},
     .roles = {{"bos_token", "[CLS]"},
               {"eos_token", "[SEP]"},
               {"unk_token", "<unk>"},
               {"sep_token", "[SEP]"},
               {"pad_token", "<pad>"},
               {"cls_token", "[CLS]"},
               {"mask_token", "[MASK]", true}},
     .single = "cls_token $A sep_token",
     .pair = "cls_token $A sep_token $B:1 sep_token:1",
     .cleans = true,
     .lowercases = true},
    {.names = {"XLNet", "xlnet"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "<sep>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<cls>"},
               {"mask_token", "<mask>", true},
               {"end_of_paragraph", "<eop>"},
               {"end_of_document", "<eod>"}},
     .single = "$A sep_token cls_token:2",
     .pair = "$A sep_token $B:1 sep_token:1 cls_token:2",
     .cleans = true},
    {.names = {"BigBird", "big_bird"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "[SEP]"},
               {"pad_token", "<pad>"},
               {"cls_token", "[CLS]"},
               {"mask_token", "[MASK]", true}},
     .single = "cls_token $A sep_token",
     .pair = "cls_token $A sep_token $B:1 sep_token:1"},
    {.names = {"DebertaV2", "deberta-v2"},
     .roles = {{"bos_token", "[CLS]"},
               {"eos_token", "[SEP]"},
               {"unk_token", "[UNK]"},
               {"sep_token", "[SEP]"},
               {"pad_token", "[PAD]"},
               {"cls_token", "[CLS]"},
               {"mask_token", "[MASK]"}},
     .single = "cls_token $A sep_token",
     .pair = "cls_token $A sep_token $B:1 sep_token:1"},
    {.names = {"Llama", "llama", "mistral"},
     .roles = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}},
     .single = "bos_token? $A eos_token?",
     .pair = "bos_token? $A eos_token? bos_token?:1 $B:1 eos_token?:1"},
    {.names = {"M2M100", "m2m_100"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"}},
     .single = "language $A eos_token",
     .pair = "language $A $B eos_token",
     .ids = Ids::vocab_json,
     .has_languages = true,
     .spaces = Family::Spaces::stripped},
    {.names = {"Marian", "marian"},
     .roles = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
     .single = "$A eos_token",
     .pair = "$A $B eos_token",
     .ids = Ids::vocab_json,
     .has_language_codes = true,
     .spaces = Family::Spaces::set},
};

// Fan et al. 2020, "Beyond English-centric multilingual machine translation", arXiv:2010.11125.
constexpr std::string_view m2m100[] = {
    "af", "am", "ar", "ast", "az", "ba",  "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs", "cy", "da", "de",
    "el", "en", "es", "et",  "fa", "ff",  "fi", "fr", "fy", "ga", "gd", "gl", "gu",  "ha", "he", "hi", "hr",
    "ht", "hu", "hy", "id",  "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km",  "kn", "ko", "lb", "lg",
    "ln", "lo", "lt", "lv",  "mg", "mk",  "ml", "mn", "mr", "ms", "my", "ne", "nl",  "no", "ns", "oc", "or",
    "pa", "pl", "ps", "pt",  "ro", "ru",  "sd", "si", "sk", "sl", "so", "sq", "sr",  "ss", "su", "sv", "sw",
    "ta", "th", "tl", "tn",  "tr", "uk",  "ur", "uz", "vi", "wo", "xh", "yi", "yo",  "zh", "zu"};
constexpr std::string_view wmt21[] = {"en", "ha", "is", "ja", "cs", "ru", "zh", "de"};

}  // namespace

std::span<const Family> sentencepiece_families() {
  return families;
}

const Family* find_sentencepiece_family(std::string_view name) {
  const auto found = std::find_if(families.begin(), families.end(), [name](const Family& family) {
    return std::find(family.names.begin(), family.names.end(), name) != family.names.end();
  });
  return found == families.end() ? nullptr : &*found;
}

std::span<const std::string_view> m2m_languages(std::string_view set) {
  if (set == "m2m100") return m2m100;
  if (set == "wmt21") return wmt21;
  return {};
}

}  // namespace attend::tokenizers
