// The files that a tokenizer's directory may contain: one list for all code that reads or copies them.
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
// Marian's, one for each side; the target has its own ids only with separate_vocabs.
inline constexpr const char *source_spm = "source.spm", *target_spm = "target.spm",
                            *target_vocab_json = "target_vocab.json";
// SentencePiece models by the names that transformers gives them, in the order of the search.
inline constexpr std::array sentencepiece = {source_spm,  "spiece.model",    "sentencepiece.bpe.model",
                                             "spm.model", "tokenizer.model", "sentencepiece.model"};

}  // namespace file_names

// The names of those that exist in `directory`: together they are its tokenizer.
std::vector<std::string> tokenizer_files(const std::filesystem::path& directory);
// Copies them, each completely or not at all. Does nothing if both directories are the same.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace attend::tokenizers
