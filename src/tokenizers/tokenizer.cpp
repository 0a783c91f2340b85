// A tokenizer is a sequence of parts: added tokens, normalizer, pre-tokenizer, model, truncation,
// post-processor, padding; and the decoder. https://github.com/huggingface/tokenizers defines what each of
// them does.
#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "sources/model_source.h"
#include "tokenizers/files/directory_facts.h"
#include "tokenizers/files/gguf_tokenizer.h"
#include "tokenizers/files/sentencepiece_files.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"
#include "tokenizers/files/vocabulary_files.h"
#include "tokenizers/scratch.h"
#include "tokenizers/state.h"
#include "tokenizers/steps/encoding.h"
#include "tokenizers/text/clean_up.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace attend {

using namespace tokenizers;  // the parts of a tokenizer
namespace {

// Character indices for the byte offsets of one text. ASCII text needs no table.
class CharacterIndex {
 public:
  explicit CharacterIndex(std::string_view text) : size_(text.size()) {
    if (unicode::is_ascii(text)) return;
    index_.reserve(text.size());
    std::uint32_t index = 0;
    for (std::size_t at = 0; at < text.size(); ++index) {
      const unsigned size = unicode::decode(text.data() + at).size;
      index_.insert(index_.end(), size, index);
      at += size;
    }
    count_ = index;
  }
  TextSpan characters(TextSpan bytes) const {
    if (index_.empty() || bytes.begin >= size_) return bytes;
    return {index_[bytes.begin], bytes.end < size_ ? index_[bytes.end] : count_};
  }

 private:
  std::size_t size_;
  std::vector<std::uint32_t> index_;  // of the character each byte belongs to
  std::uint32_t count_ = 0;
};

Details details_of(const EncodeOptions& options) {
  if (options.with_details) return Details::all;
  return options.with_types ? Details::types : Details::ids;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::from_file(const std::filesystem::path& path, TextSide side) {
  const ErrorScope scope(ErrorKind::model);
  if (open_source(path)->is_one_file()) {
    Tokenizer tokenizer(std::make_unique<State>(read_gguf_tokenizer(path), path.string()));
    tokenizer.state_->cleans_up = cleans_up(path, false);
    return tokenizer;
  }
  if (!std::filesystem::is_directory(path)) {
    const std::string kind = path.extension().string();
    return Tokenizer(std::make_unique<State>(kind == ".model" || kind == ".spm"
                                                 ? read_sentencepiece_files(path, side)
                                                 : read_tokenizer_json(read_file(path), path.string()),
                                             path.string()));
  }
  const std::filesystem::path file = path / file_names::tokenizer_json;
  const bool is_json = std::filesystem::exists(file);
  TokenizerJson json =
      is_json ? read_tokenizer_json(read_file(file), file.string()) : read_vocabulary_files(path, side);
  if (is_json) {
    const TokenizerConfig config(path);
    if (config.family() == "RoFormer") refuse_dictionary(path);
    if (json.fields.contains("added_tokens")) config.mark_specials(json.fields.at("added_tokens"));
    set_language(json, path, side);
  }
  Tokenizer tokenizer(std::make_unique<State>(std::move(json), (is_json ? file : path).string()));
  tokenizer.state_->cleans_up = cleans_up(path, is_json);
  return tokenizer;
}

TokenizerPair TokenizerPair::from_file(const std::filesystem::path& path) {
  const auto read = [&](TextSide side) {
    Tokenizer tokenizer = Tokenizer::from_file(path, side);
    tokenizer.truncation().reset();
    tokenizer.padding().reset();
    return std::make_shared<const Tokenizer>(std::move(tokenizer));
  };
  TokenizerPair pair;
  pair.source = read(TextSide::source);
  pair.target = has_target_side(path) ? read(TextSide::target) : pair.source;
  return pair;
}

// Fills in the requested fields for one text, without special tokens. Scratch belongs to one thread.
void Tokenizer::State::encode_sequence(std::string_view text, int sequence, Details details, Scratch& scratch,
                                       Encoding& encoding) const {
  if (text.size() > max_text) fail("a text has {} bytes, more than the maximum of {}", text.size(), max_text);
  if (const auto at = find_invalid_utf8(text)) fail("the text is not valid UTF-8 at byte {}", *at);
  Pieces& pieces = scratch.pieces;
  const bool all = details == Details::all;
  pieces.clear(all || needs_alignment);
  added.split(text, normalizer.get(), pieces);
  if (pre_tokenizer) pre_tokenizer->apply(pieces);
  if (!model->reads_bytes()) pieces.write_byte_level();
  pieces.text.append(WordCache::bytes_behind, '\0');  // the word cache reads them
  Tokens& tokens = scratch.tokens;
  tokens.clear(all || added.renumbers());
  model->tokenize(pieces, scratch.model, tokens);
  if (added.renumbers())
    for (std::size_t i = 0; i < tokens.ids.size(); ++i)
      if (pieces.pieces[tokens.places[i].piece].token < 0) tokens.ids[i] = added.renumbered(tokens.ids[i]);
  encoding.ids.insert(encoding.ids.end(), tokens.ids.begin(), tokens.ids.end());
  if (details == Details::ids) return;

  const std::size_t count = tokens.ids.size();
  encoding.type_ids.assign(count, sequence);
  encoding.attention_mask.assign(count, 1);
  if (details == Details::types) return;

  const CharacterIndex index(text);
  encoding.special_tokens_mask.assign(count, 0);
  encoding.sequence_ids.assign(count, sequence);
  encoding.tokens.reserve(count);
  encoding.offsets.reserve(count);
  encoding.word_ids.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const TokenPlace& place = tokens.places[i];
    const Piece& piece = pieces.pieces[place.piece];
    // A word after the vocabulary is an added token with exactly that text.
    if (place.literal || !model->vocabulary().contains(tokens.ids[i]))
      encoding.tokens.emplace_back(pieces.view(piece).substr(place.begin, place.end - place.begin));
    else
      encoding.tokens.emplace_back(model->vocabulary().token(tokens.ids[i]));
    TextSpan bytes{place.begin, place.end};  // as in `tokenizers` if a token extends beyond its piece
    if (place.begin < place.end && piece.begin + place.end <= piece.end)
      bytes = {pieces.alignment[piece.begin + place.begin].begin,
               pieces.alignment[piece.begin + place.end - 1].end};
    encoding.offsets.push_back(index.characters(bytes));
    encoding.word_ids.push_back(static_cast<std::int32_t>(place.piece));
  }
}

// All steps except padding.
Encoding Tokenizer::State::encode(std::string_view text, const std::string_view* pair,
                                  const EncodeOptions& options, Scratch& scratch) const {
  const Details details = details_of(options);
  const std::optional<Truncation>& cut = options.truncation ? options.truncation : truncation;
  if (pair == nullptr && !cut &&
      (!post_processor || post_processor->leaves_text(options.special_tokens, details))) {
    Encoding encoding;
    encode_sequence(text, 0, details, scratch, encoding);
    return encoding;
  }
  std::vector<Encoding> sequences(pair != nullptr ? 2 : 1);
  encode_sequence(text, 0, details, scratch, sequences[0]);
  if (pair != nullptr) encode_sequence(*pair, 1, details, scratch, sequences[1]);
  if (cut) {
    const std::size_t added_count =
        options.special_tokens && post_processor ? post_processor->added(pair != nullptr) : 0;
    if (cut->max_length < added_count)
      fail("truncation: max_length is {}, but the special tokens alone are {}", cut->max_length, added_count);
    truncate(sequences[0], pair != nullptr ? &sequences[1] : nullptr, *cut, cut->max_length - added_count,
             slow);
    if (details == Details::ids)
      for (Encoding& sequence : sequences) sequence.overflowing.clear();
  }
  // If the text ends with this token, it replaces the one that would follow.
  if (closes_once && options.special_tokens)
    for (Encoding& sequence : sequences)
      if (!sequence.ids.empty() && sequence.ids.back() == *closes_once) drop_last(sequence);
  if (post_processor) post_processor->apply(sequences, options.special_tokens, details);
  Encoding result = std::move(sequences[0]);
  for (std::size_t i = 1; i < sequences.size(); ++i) append(result, sequences[i]);
  if (!marked.empty() && options.special_tokens && details == Details::all)
    for (std::size_t i = 0; i < result.ids.size(); ++i)
      if (marked.contains(result.ids[i])) result.special_tokens_mask[i] = 1;
  return result;
}

namespace {

// The dropout of text number `number` depends only on the seed.
void set_dropout(Scratch& scratch, const EncodeOptions& options, std::size_t number) {
  if (options.dropout < 0 || options.dropout > 1)
    fail("dropout: expected a probability, found {}", options.dropout);
  scratch.model.dropout = static_cast<float>(options.dropout);
  if (options.dropout == 0) return;
  std::uint64_t mixed = options.seed + 0x9e3779b97f4a7c15u * (number + 1);  // splitmix64
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  scratch.model.random.seed(static_cast<std::uint32_t>(mixed >> 32));
}

}  // namespace

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const ErrorScope scope(ErrorKind::input);
  const auto scratch = state_->scratch.borrow();
  set_dropout(*scratch, options, 0);
  Encoding encoding = state_->encode(text, nullptr, options, *scratch);
  if (state_->padding)
    pad(encoding, padded_length(*state_->padding, encoding.ids.size()), *state_->padding,
        details_of(options));
  return encoding;
}

Encoding Tokenizer::encode_pair(std::string_view text, std::string_view pair,
                                const EncodeOptions& options) const {
  const ErrorScope scope(ErrorKind::input);
  const auto scratch = state_->scratch.borrow();
  set_dropout(*scratch, options, 0);
  Encoding encoding = state_->encode(text, &pair, options, *scratch);
  if (state_->padding)
    pad(encoding, padded_length(*state_->padding, encoding.ids.size()), *state_->padding,
        details_of(options));
  return encoding;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string> texts,
                                              const EncodeOptions& options) const {
  const ErrorScope scope(ErrorKind::input);
  std::vector<Encoding> encodings(texts.size());
  parallel_for(texts.size(), 16, [&](std::size_t begin, std::size_t end) {
    const auto scratch = state_->scratch.borrow();
    for (std::size_t i = begin; i < end; ++i) {
      set_dropout(*scratch, options, i);
      encodings[i] = state_->encode(texts[i], nullptr, options, *scratch);
    }
  });
  if (state_->padding) {
    std::size_t longest = 0;
    for (const Encoding& encoding : encodings) longest = std::max(longest, encoding.ids.size());
    const std::size_t length = padded_length(*state_->padding, longest);
    for (Encoding& encoding : encodings) pad(encoding, length, *state_->padding, details_of(options));
  }
  return encodings;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  std::string text;
  bool has_parts = false;
  const auto add_part = [&](const std::string& part) {
    if (std::exchange(has_parts, true)) text += state_->between_parts;
    text += part;
  };
  for (const TokenId id : ids) {
    std::optional<std::string> token = id_to_token(id);
    if (!token || (skip_special_tokens && state_->added.is_special(*token))) continue;
    if (!state_->apart.contains(*token)) {
      tokens.push_back(std::move(*token));
      continue;
    }
    const std::string before = join(std::exchange(tokens, {}));
    if (!before.empty()) add_part(before);
    add_part(*token);
  }
  if (!tokens.empty()) add_part(join(std::move(tokens)));
  for (const std::string& token : state_->closing) replace_all(text, " " + token, token);
  if (state_->cleans_up) clean_up(text);
  return text;
}

std::string Tokenizer::join(std::vector<std::string> tokens) const {
  std::string text;
  if (state_->decoder) state_->decoder->apply(tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !state_->decoder) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::size_t Tokenizer::vocabulary_size() const {
  return state_->model->vocabulary().size() + state_->added.count_outside(state_->model->vocabulary());
}

std::optional<TokenId> Tokenizer::token_to_id(std::string_view token) const {
  TokenId id = state_->added.find(token);
  if (id < 0) id = state_->model->vocabulary().find(token);
  if (id < 0) return {};
  return id;
}

std::optional<std::string> Tokenizer::id_to_token(TokenId id) const {
  if (const AddedToken* token = state_->added.find(id)) return token->content;
  if (!state_->model->vocabulary().contains(id)) return {};
  return std::string(state_->model->vocabulary().token(id));
}

std::vector<std::string> Tokenizer::token_texts() const {
  std::vector<std::string> texts(vocabulary_size());
  for (std::size_t id = 0; id < texts.size(); ++id) {
    std::optional<std::string> token = id_to_token(static_cast<TokenId>(id));
    if (!token || state_->added.is_special(*token)) continue;
    texts[id] = state_->decoder ? state_->decoder->in_the_middle(std::move(*token)) : " " + *token;
  }
  return texts;
}

std::string Tokenizer::continuing_subword_prefix() const {
  const Fields fields(state_->model->fields(), "model");
  const bool word_piece = fields.text({"type"}, "") == "WordPiece";
  return fields.text({"continuing_subword_prefix"}, word_piece ? "##" : "");
}

std::optional<Truncation>& Tokenizer::truncation() {
  return state_->truncation;
}
const std::optional<Truncation>& Tokenizer::truncation() const {
  return state_->truncation;
}
std::optional<Padding>& Tokenizer::padding() {
  return state_->padding;
}
const std::optional<Padding>& Tokenizer::padding() const {
  return state_->padding;
}

void Tokenizer::lower_case() {
  state_->lower_case();
}

std::string Tokenizer::to_json() const {
  return state_->to_json();
}

void Tokenizer::save(const std::filesystem::path& path) const {
  write_file_atomically(path, to_json());
}

}  // namespace attend
