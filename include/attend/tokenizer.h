// Tokenizers, exactly as Hugging Face's `tokenizers` defines them, without torch.
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

using TokenId = std::int32_t;

// A half-open range of the text that was given.
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
  std::vector<Encoding> overflowing;       // what truncation cut off, in pieces
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
  bool with_details = true;  // false: only ids are filled in, which is much faster
  bool with_types = false;   // without details: type_ids and attention_mask, too
  // BPE-dropout (Provilkov et al. 2020, arXiv:1910.13267): merges are passed over with this probability. What
  // chance does follows from `seed` and, in a batch, from the text's number. Other models take no notice.
  double dropout = 0;
  std::uint64_t seed = 0;
  std::optional<Truncation> truncation = {};  // of this call, in place of the tokenizer's own
};

// A translation goes from source to target text, and some models have a tokenizer for each.
enum class TextSide { source, target };

// Thread-safe: any number of threads may call the const functions of one tokenizer.
class ATTEND_API Tokenizer {
 public:
  // A tokenizer.json; a directory that holds one or else the files that transformers' slow tokenizers read
  // (spiece.model, vocab.txt, vocab.json with merges.txt...); or the SentencePiece model of such a directory,
  // or a GGUF file. The side makes a difference as TokenizerPair says. Error with the file and the field if
  // it is not valid.
  static Tokenizer from_file(const std::filesystem::path& path, TextSide side = TextSide::source);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view text, std::string_view pair, const EncodeOptions& options = {}) const;
  // Order kept; all cores.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts,
                                     const EncodeOptions& options = {}) const;
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens = false) const;
  // Tokens to text, whether or not they are in the vocabulary.
  std::string join(std::vector<std::string> tokens) const;

  std::size_t vocabulary_size() const;  // with added tokens
  std::optional<TokenId> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(TokenId id) const;  // nothing for an id outside the vocabulary
  // What each token of the vocabulary adds to a text in whose middle it stands: bytes, which need not be
  // whole characters. Nothing for special tokens, and for ids that are no token's.
  std::vector<std::string> token_texts() const;
  // What a token begins with that goes on with a word ("##"); empty where tokens do not show it.
  std::string continuing_subword_prefix() const;

  // As in the file; may be changed before encoding begins.
  std::optional<Truncation>& truncation();
  const std::optional<Truncation>& truncation() const;
  std::optional<Padding>& padding();
  const std::optional<Padding>& padding() const;
  // Texts, but not the added tokens in them, are put into lower case before anything else, as
  // sentence-transformers' do_lower_case has it. To be called before encoding begins.
  void lower_case();

  std::string to_json() const;  // a tokenizer.json that `tokenizers` reads
  void save(const std::filesystem::path& path) const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The tokenizers of both sides of a translation. As transformers has it, inputs are encoded by `source`;
// labels are encoded, and outputs decoded, by `target`; and what the file says of truncation and padding,
// which may be no more than its last user's wish, is forgotten.
struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;

  // Two tokenizers for Marian's source.spm and target.spm (with separate_vocabs also vocab.json and
  // target_vocab.json), and for M2M-100's src_lang and tgt_lang; else one, which both point to.
  static TokenizerPair from_file(const std::filesystem::path& path);
};

}  // namespace attend
