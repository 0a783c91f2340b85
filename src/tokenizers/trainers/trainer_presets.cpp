#include "tokenizers/trainers/trainer_presets.h"

#include <fmt/format.h>

namespace attend::tokenizers {
namespace {

using Preset = TrainerOptions::Preset;
using Kind = TrainerOptions::Model;

constexpr int kSentinels = 100;  // of T5

// <extra_id_99> ... <extra_id_0>: T5 counts its sentinels from the end of the vocabulary.
std::vector<std::string> sentinels() {
  std::vector<std::string> all;
  for (int i = kSentinels - 1; i >= 0; --i) all.push_back(fmt::format("<extra_id_{}>", i));
  return all;
}

Json additional_tokens() {
  Json all = Json::array();
  for (int i = 0; i < kSentinels; ++i) all.push_back(fmt::format("<extra_id_{}>", i));
  return all;
}

}  // namespace

PresetFields fields_of(Preset preset) {
  switch (preset) {
    case Preset::plain:
      break;
    case Preset::gpt2:
      return {.model = Kind::bpe,
              .special_tokens = {"<|endoftext|>"},
              .single = "",
              .pair = "",
              .config = {{"bos_token", "<|endoftext|>"},
                         {"eos_token", "<|endoftext|>"},
                         {"unk_token", "<|endoftext|>"},
                         {"model_max_length", 1024}}};
    case Preset::translation:
      return {.model = Kind::bpe,
              .special_tokens = {"</s>", "<unk>"},
              .single = "$A </s>",
              .pair = "$A $B </s>",
              .config = {{"eos_token", "</s>"},
                         {"unk_token", "<unk>"},
                         {"pad_token", "<pad>"},
                         {"model_max_length", 512}},
              .last_tokens = {"<pad>"}};
    case Preset::bert:
      return {.model = Kind::wordpiece,
              .special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
              .single = "[CLS] $A [SEP]",
              .pair = "[CLS] $A [SEP] $B:1 [SEP]:1",
              .config = {{"unk_token", "[UNK]"},
                         {"sep_token", "[SEP]"},
                         {"pad_token", "[PAD]"},
                         {"cls_token", "[CLS]"},
                         {"mask_token", "[MASK]"},
                         {"model_max_length", 512}}};
    case Preset::bart:
      return {.model = Kind::bpe,
              .special_tokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"},
              .single = "<s> $A </s>",
              .pair = "<s> $A </s> </s> $B </s>",
              .config = {{"bos_token", "<s>"},
                         {"eos_token", "</s>"},
                         {"unk_token", "<unk>"},
                         {"pad_token", "<pad>"},
                         {"cls_token", "<s>"},
                         {"sep_token", "</s>"},
                         {"mask_token", "<mask>"},
                         {"model_max_length", 512}}};
    case Preset::t5:
      return {.model = Kind::unigram,
              .special_tokens = {"<pad>", "</s>", "<unk>"},
              .single = "$A </s>",
              .pair = "$A </s> $B </s>",
              .config = {{"eos_token", "</s>"},
                         {"unk_token", "<unk>"},
                         {"pad_token", "<pad>"},
                         {"additional_special_tokens", additional_tokens()},
                         {"model_max_length", 512}},
              .last_tokens = sentinels()};
    case Preset::xlnet:
      return {
          .model = Kind::unigram,
          .special_tokens = {"<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"},
          .single = "$A <sep> <cls>:2",
          .pair = "$A <sep> $B:1 <sep>:1 <cls>:2",
          .config = {{"bos_token", "<s>"},
                     {"eos_token", "</s>"},
                     {"unk_token", "<unk>"},
                     {"sep_token", "<sep>"},
                     {"pad_token", "<pad>"},
                     {"cls_token", "<cls>"},
                     {"mask_token", "<mask>"},
                     {"additional_special_tokens", {"<eop>", "<eod>"}},
                     {"padding_side", "left"},
                     {"model_max_length", 512}}};
  }
  return {.model = Kind::bpe, .special_tokens = {}, .single = "", .pair = "", .config = Json::object()};
}

}  // namespace attend::tokenizers
