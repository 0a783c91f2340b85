// Tokenizers, exactly as in Hugging Face's `tokenizers`.
#pragma once

#include <attend/export.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {
inline namespace v1 {

using TokenId = std::int32_t;

// A half-open range of the given text.
struct TextSpan {
  std::uint32_t begin = 0, end = 0;
};

// One encoded text or pair. All vectors but `overflowing` have one entry per token.
struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::string> tokens;
  std::vector<std::int32_t> type_ids;
  std::vector<std::int32_t> attention_mask;
  std::vector<std::int32_t> special_tokens_mask;
  std::vector<TextSpan> offsets;           // in characters (code points) of the given text
  std::vector<std::int32_t> word_ids;      // -1: a special token
  std::vector<std::int32_t> sequence_ids;  // 0, 1; -1: a special token
  std::vector<Encoding> overflowing;       // the parts that truncation removed
};

struct Truncation {
  enum class Strategy { longest_first, only_first, only_second } strategy = Strategy::longest_first;
  enum class Direction { right, left } direction = Direction::right;
  std::size_t max_length = 512, stride = 0;
};

struct Padding {
  std::optional<std::size_t> length;  // absent: the longest of the batch
  std::size_t multiple_of = 0;        // 0: any length
  bool left = false;
  TokenId id = 0;
  std::int32_t type_id = 0;
  std::string token = "[PAD]";
};

struct EncodeOptions {
  bool special_tokens = true;
  bool with_details = true;  // false: fill in only ids, which is much faster
  bool with_types = false;   // with with_details = false: also type_ids and attention_mask
  // BPE-dropout (Provilkov et al. 2020, arXiv:1910.13267): the probability to skip a merge. The random
  // choices depend on `seed` and, in a batch, on the index of the text. Other models ignore it.
  double dropout = 0;
  std::uint64_t seed = 0;
  std::optional<Truncation> truncation = {};  // for this call, instead of the tokenizer's own
};

// Some translation models have a tokenizer for each side.
enum class TextSide { source, target };

// Thread-safe: any number of threads may call the const functions of one tokenizer.
class ATTEND_API Tokenizer {
 public:
  // Reads a tokenizer.json; a directory with one, or with the files of transformers' slow tokenizers
  // (spiece.model, vocab.txt, vocab.json with merges.txt...); the SentencePiece model of such a directory; or
  // a GGUF file. TokenizerPair explains the side. Throws Error with the file and the field if it is not
  // valid.
  static Tokenizer from_file(const std::filesystem::path& path, TextSide side = TextSide::source);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view text, std::string_view pair, const EncodeOptions& options = {}) const;
  // Results are in the order of the texts. Uses all cores.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts,
                                     const EncodeOptions& options = {}) const;
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens = false) const;
  // Joins tokens into text, whether or not they are in the vocabulary.
  std::string join(std::vector<std::string> tokens) const;

  std::size_t vocabulary_size() const;  // including added tokens
  std::optional<TokenId> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(TokenId id) const;  // nullopt for an id outside the vocabulary
  // For each token the bytes that it adds in the middle of a text; they need not be whole characters. Empty
  // for special tokens and for unused ids.
  std::vector<std::string> token_texts() const;
  // The prefix of tokens that continue a word ("##"); empty if there is none.
  std::string continuing_subword_prefix() const;

  // The file's settings. Change them only before the first encoding.
  std::optional<Truncation>& truncation();
  const std::optional<Truncation>& truncation() const;
  std::optional<Padding>& padding();
  const std::optional<Padding>& padding() const;
  // Lower-cases texts before anything else, except added tokens in them, as sentence-transformers'
  // do_lower_case does. Call it before the first encoding.
  void lower_case();

  std::string to_json() const;  // a tokenizer.json that `tokenizers` can read
  void save(const std::filesystem::path& path) const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The tokenizers for both sides of a translation. As in transformers, inputs are encoded by `source`; labels
// are encoded, and outputs decoded, by `target`. The file's settings for truncation and padding are dropped,
// because they may only be those of its last user.
struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;

  // Two tokenizers for Marian's source.spm and target.spm (with separate_vocabs also vocab.json and
  // target_vocab.json), and for M2M-100's src_lang and tgt_lang. Otherwise one, which both point to.
  static TokenizerPair from_file(const std::filesystem::path& path);
};

}  // namespace v1
}  // namespace attend
