// Trains tokenizers from text files. Files are read in blocks, so they may be larger than memory.
#pragma once

#include "formats/json/json.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend::tokenizers {

struct TrainerOptions {
  // bpe: byte-level BPE, like GPT-2. metaspace: BPE over characters with a letter for the space, like
  // SentencePiece. unigram: SentencePiece's other model, with its normalization. wordpiece: like BERT.
  // character: one token per character.
  enum class Model { bpe, metaspace, unigram, wordpiece, character } model = Model::bpe;
  // The parts around the model: special tokens, their template, how words begin.
  //   plain        nothing
  //   gpt2         <|endoftext|>, which no template adds
  //   translation  </s> (id 0), <unk>; <pad> after all others, where CTranslate2 expects Marian's padding;
  //                A </s>, A B </s>
  //   bert         [PAD] [UNK] [CLS] [SEP] [MASK]; [CLS] A [SEP], [CLS] A [SEP] B [SEP]
  //   bart         <s> <pad> </s> <unk> <mask>; <s> A </s>, <s> A </s> </s> B </s> (also RoBERTa)
  //   t5           <pad> </s> <unk>; <extra_id_99> to <extra_id_0> after all others; A </s>, A </s> B </s>
  //   xlnet        <unk> <s> </s> <cls> <sep> <pad> <mask> <eod> <eop>; A <sep> <cls>, A <sep> B <sep> <cls>
  enum class Preset { plain, gpt2, translation, bert, bart, t5, xlnet } preset = Preset::plain;
  std::size_t vocabulary_size = 30000;           // with special tokens and alphabet; not for `character`
  std::uint64_t min_frequency = 0;               // pairs seen less often are not merged; not for `unigram`
  std::size_t limit_alphabet = 0;                // at most this many characters, the most frequent; 0: all
  std::vector<std::string> special_tokens = {};  // after those of the preset
  bool lowercase = false;
  // Like "[CLS] $A [SEP] $B:1 [SEP]:1": $A and $B are the texts, the rest special tokens, with the type after
  // the colon. Empty: the preset's.
  std::string single_template = {}, pair_template = {};
  std::optional<std::int64_t> model_max_length = {};  // for tokenizer_config.json; none: the preset's
};

struct TrainedTokenizer {
  std::string tokenizer_json;
  Json config;  // tokenizer_config.json for transformers
  std::size_t vocabulary_size;

  void save(const std::filesystem::path& directory) const;  // creates the directory if it is missing
};

TrainedTokenizer train_tokenizer(const TrainerOptions& options,
                                 const std::vector<std::filesystem::path>& files);

}  // namespace attend::tokenizers
