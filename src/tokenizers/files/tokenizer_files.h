// The files that a tokenizer's directory may hold: one list for all who read or copy them.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace attend::tokenizers {

namespace file_names {

inline constexpr const char *tokenizer_json = "tokenizer.json",
                            *tokenizer_config_json = "tokenizer_config.json",
                            *special_tokens_map_json = "special_tokens_map.json",
                            *added_tokens_json = "added_tokens.json";
inline constexpr const char *vocab_txt = "vocab.txt", *vocab_json = "vocab.json", *merges_txt = "merges.txt";
// Transformer-XL's words in a pickle.
inline constexpr const char *vocab_pkl = "vocab.pkl", *vocab_bin = "vocab.bin";
// Marian's, one a side; the target's ids only with separate_vocabs.
inline constexpr const char *source_spm = "source.spm", *target_spm = "target.spm",
                            *target_vocab_json = "target_vocab.json";
// SentencePiece models by the names that transformers gives them, in the order in which they are looked for.
inline constexpr std::array sentencepiece = {source_spm,  "spiece.model",    "sentencepiece.bpe.model",
                                             "spm.model", "tokenizer.model", "sentencepiece.model"};

}  // namespace file_names

// The names of those that are in `directory`: together they are its tokenizer.
std::vector<std::string> tokenizer_files(const std::filesystem::path& directory);
// Copies them; each is complete under its name or not there. Nothing happens if both are the same directory.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace attend::tokenizers
