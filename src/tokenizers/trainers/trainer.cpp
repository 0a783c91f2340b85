#include "tokenizers/trainers/trainer.h"

#include "base/directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/text/byte_level.h"
#include "tokenizers/text/metaspace.h"
#include "tokenizers/text/unicode.h"
#include "tokenizers/trainers/trainer_bpe.h"
#include "tokenizers/trainers/trainer_presets.h"
#include "tokenizers/trainers/trainer_unigram.h"

#include <algorithm>
#include <map>

namespace attend::tokenizers {
namespace {

using Preset = TrainerOptions::Preset;
using Kind = TrainerOptions::Model;

Json byte_level(bool add_prefix_space) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", true}};
}

// SentencePiece's default rules, "nmt_nfkc", as closely as components can express them.
Json sentencepiece_rules(bool lowercase) {
  Json rules = Json::array();
  for (const char* type : {"Nmt", "NFKC", "Lowercase"})
    if (lowercase || std::string_view(type) != "Lowercase") rules.push_back(Json::object({{"type", type}}));
  rules.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  rules.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  return {{"type", "Sequence"}, {"normalizers", rules}};
}

// Everything except the model: how text is split and joined again.
struct Surroundings {
  Json normalizer, pre_tokenizer, decoder;
};

Surroundings surroundings(const TrainerOptions& options) {
  Surroundings result;
  if (options.lowercase) result.normalizer = {{"type", "Lowercase"}};
  const bool translation = options.preset == Preset::translation;
  switch (options.model) {
    case Kind::bpe:
      // A word at the beginning of a sentence is the same token as within it; the decoder removes the space
      // again.
      result.pre_tokenizer = byte_level(translation);
      result.decoder = byte_level(translation);
      if (translation)
        result.decoder = {
            {"type", "Sequence"},
            {"decoders",
             {byte_level(true), {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
      break;
    case Kind::unigram:
      result.normalizer = sentencepiece_rules(options.lowercase);
      [[fallthrough]];
    case Kind::metaspace:
      result.pre_tokenizer = {{"type", "Metaspace"},
                              {"replacement", space_letter},
                              {"prepend_scheme", "always"},
                              {"split", true}};
      result.decoder = result.pre_tokenizer;
      break;
    case Kind::wordpiece:
      result.normalizer = {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", true},
                           {"strip_accents", nullptr},
                           {"lowercase", options.lowercase}};
      result.pre_tokenizer = {{"type", "BertPreTokenizer"}};
      result.decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
      break;
    case Kind::character:
      result.decoder = {{"type", "Fuse"}};
      break;
  }
  return result;
}

// One token per character, in the order of their code points.
BpeResult train_characters(const std::vector<WordCount>& lines,
                           const std::vector<std::string>& special_tokens) {
  BpeTraining training{};
  training.vocabulary_size = SIZE_MAX;
  training.min_frequency = UINT64_MAX;  // no merges
  training.special_tokens = special_tokens;
  return train_bpe(lines, training);
}

// The token for characters that the model does not know.
const char* unknown_token(const TrainerOptions& options) {
  return options.preset == Preset::bert ? "[UNK]" : "<unk>";
}

bool has(const std::vector<std::string>& tokens, const char* token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

Json added_token(const std::string& token, std::size_t id) {
  return {{"id", id},        {"content", token},    {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json added_tokens(const std::vector<std::string>& special_tokens) {
  Json list = Json::array();
  for (const std::string& token : special_tokens) list.push_back(added_token(token, list.size()));
  return list;
}

Json post_processor(const TrainerOptions& options, const PresetFields& preset, const Json& added_tokens) {
  std::string single = options.single_template.empty() ? preset.single : options.single_template;
  std::string pair = options.pair_template.empty() ? preset.pair : options.pair_template;
  const Json trim = byte_level(options.preset == Preset::translation);
  if (single.empty() && pair.empty()) return options.model == Kind::bpe ? trim : Json();
  if (single.empty()) single = "$A";
  if (pair.empty()) pair = "$A $B:1";
  Json result = template_processor(single, pair, added_tokens);
  if (options.model == Kind::bpe) result = {{"type", "Sequence"}, {"processors", {trim, result}}};
  return result;
}

// The large tables are written as text, one line per entry.
std::string model_json(Json fields, const std::string& tables) {
  std::string text = fields.dump();
  text.back() = ',';
  return text + tables + '}';
}

template <class Items, class Write>
std::string table(const char* name, char open, const Items& items, char close, Write write) {
  std::string text = std::string("\n\"") + name + "\":" + open;
  std::size_t index = 0;
  for (const auto& item : items) {
    text += index > 0 ? ",\n" : "\n";
    text += write(item, index++);
  }
  return text + '\n' + close;
}

std::string unigram_json(const std::vector<UnigramPiece>& pieces, std::size_t unknown) {
  return model_json({{"type", "Unigram"}, {"unk_id", unknown}, {"byte_fallback", false}},
                    table("vocab", '[', pieces, ']', [](const UnigramPiece& piece, std::size_t) {
                      return '[' + Json(piece.text).dump() + ',' + Json(piece.score).dump() + ']';
                    }));
}

std::string bpe_json(const TrainerOptions& options, const BpeResult& result,
                     const std::vector<std::string>& special_tokens) {
  const std::string vocabulary = table(
      "vocab", '{', result.tokens, '}',
      [](const std::string& token, std::size_t id) { return Json(token).dump() + ':' + std::to_string(id); });
  if (options.model == Kind::wordpiece)
    return model_json({{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100}},
                      vocabulary);
  // Byte-level BPE knows every byte; the others know only the characters in the training text.
  const bool unknown = options.model != Kind::bpe && has(special_tokens, "<unk>");
  return model_json(
      {{"type", "BPE"},
       {"dropout", nullptr},
       {"unk_token", unknown ? Json("<unk>") : Json()},
       {"continuing_subword_prefix", nullptr},
       {"end_of_word_suffix", nullptr},
       {"fuse_unk", options.model == Kind::metaspace},
       {"byte_fallback", false},
       {"ignore_merges", false}},
      vocabulary + ',' + table("merges", '[', result.merges, ']', [&](const auto& merge, std::size_t) {
        return '[' + Json(result.tokens[merge.first]).dump() + ',' +
               Json(result.tokens[merge.second]).dump() + ']';
      }));
}

// The model as JSON, and its number of tokens.
struct TrainedModel {
  std::string json;
  std::size_t size;
};

TrainedModel train_model(const TrainerOptions& options, const std::vector<WordCount>& words,
                         const std::vector<std::string>& special_tokens) {
  if (options.model == Kind::unigram) {
    const std::vector<UnigramPiece> pieces =
        train_unigram(words, {options.vocabulary_size, options.limit_alphabet, special_tokens});
    const auto unknown = std::find(special_tokens.begin(), special_tokens.end(), unknown_token(options));
    return {unigram_json(pieces, static_cast<std::size_t>(unknown - special_tokens.begin())), pieces.size()};
  }
  if (options.model == Kind::character) {
    const BpeResult result = train_characters(words, special_tokens);
    return {bpe_json(options, result, special_tokens), result.tokens.size()};
  }
  BpeTraining training{.vocabulary_size = options.vocabulary_size,
                       .min_frequency = options.min_frequency,
                       .limit_alphabet = options.limit_alphabet,
                       .special_tokens = special_tokens,
                       .alphabet = {},
                       .prefix = options.model == Kind::wordpiece ? "##" : ""};
  if (options.model == Kind::bpe)
    for (int byte = 0; byte < 256; ++byte)
      training.alphabet.emplace_back(byte_level_letter(static_cast<unsigned char>(byte)));
  const BpeResult result = train_bpe(words, training);
  return {bpe_json(options, result, special_tokens), result.tokens.size()};
}

}  // namespace

TrainedTokenizer train_tokenizer(const TrainerOptions& options,
                                 const std::vector<std::filesystem::path>& files) {
  if (files.empty()) fail("a tokenizer is trained from files, but none was given");
  PresetFields preset = fields_of(options.preset);
  std::vector<std::string> special_tokens = preset.special_tokens;
  // Without it, a Unigram model could not read every text.
  if (options.model == Kind::unigram && !has(special_tokens, unknown_token(options)))
    special_tokens.push_back(unknown_token(options));
  for (const std::string& token : options.special_tokens)
    if (!has(special_tokens, token.c_str())) special_tokens.push_back(token);
  for (const std::string& token : special_tokens)
    if (token.empty()) fail("a special token is empty");
  if (options.model == Kind::wordpiece && !has(special_tokens, "[UNK]"))
    fail("wordpiece needs the special token [UNK]: use the preset bert or name it");
  if (options.model == Kind::unigram && options.min_frequency > 0)
    fail("unigram has no minimum frequency: it drops the pieces with the smallest loss");

  // Before the slow work: a template with an unknown special token is an error.
  Json added = added_tokens(special_tokens);
  const Json processor = post_processor(options, preset, added);

  const Surroundings around = surroundings(options);
  const auto normalizer =
      around.normalizer.is_null() ? nullptr : make_normalizer(around.normalizer, "normalizer");
  const auto pre_tokenizer =
      around.pre_tokenizer.is_null() ? nullptr : make_pre_tokenizer(around.pre_tokenizer, "pre_tokenizer");
  const std::vector<WordCount> words = count_words(files, normalizer.get(), pre_tokenizer.get());
  if (words.empty()) fail("{}: no text to train a tokenizer from", files[0].string());

  std::erase_if(preset.last_tokens,
                [&](const std::string& token) { return has(special_tokens, token.c_str()); });
  const std::size_t after = preset.last_tokens.size();
  TrainerOptions of_model = options;
  of_model.vocabulary_size -= std::min(after, options.vocabulary_size);
  const TrainedModel model = train_model(of_model, words, special_tokens);
  if (options.model != Kind::character && model.size < of_model.vocabulary_size)
    inform("the text is only large enough for {} tokens, not {}", model.size + after,
           options.vocabulary_size);
  std::size_t added_id = model.size;
  for (const std::string& token : preset.last_tokens) added.push_back(added_token(token, added_id++));

  TrainedTokenizer trained;
  trained.vocabulary_size = model.size + after;
  const std::pair<const char*, const Json&> parts[] = {{"added_tokens", added},
                                                       {"normalizer", around.normalizer},
                                                       {"pre_tokenizer", around.pre_tokenizer},
                                                       {"post_processor", processor},
                                                       {"decoder", around.decoder}};
  std::string& text = trained.tokenizer_json;
  text = "{\n\"version\":\"1.0\",\n\"truncation\":null,\n\"padding\":null";
  for (const auto& [name, value] : parts) text += ",\n\"" + std::string(name) + "\":" + value.dump();
  text += ",\n\"model\":" + model.json + "\n}\n";

  trained.config = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  // Without these, transformers would disable the prefix space again, and pass token types to every model.
  if (options.model == Kind::bpe) trained.config["add_prefix_space"] = options.preset == Preset::translation;
  if (options.preset != Preset::bert && options.preset != Preset::xlnet)
    trained.config["model_input_names"] = {"input_ids", "attention_mask"};
  for (const auto& [name, value] : preset.config.items()) trained.config[name] = value;
  if (options.model != Kind::bpe && has(special_tokens, "<unk>")) trained.config["unk_token"] = "<unk>";
  if (options.model_max_length) trained.config["model_max_length"] = *options.model_max_length;
  return trained;
}

void TrainedTokenizer::save(const std::filesystem::path& directory) const {
  make_directories(directory);
  write_file_atomically(directory / "tokenizer.json", tokenizer_json);
  write_file_atomically(directory / "tokenizer_config.json", config.dump(2) + '\n');
}

}  // namespace attend::tokenizers
