#include "tokenizers/files/directory_facts.h"

#include "base/error.h"
#include "tokenizers/files/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <span>

namespace attend::tokenizers {
namespace {

bool in(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_left(const TokenizerConfig& config, const char* field, const char* usual) {
  const std::string side = config.fields().text({field}, usual);
  if (side != "left" && side != "right")
    fail("{}: {} is '{}', expected left or right", config.fields().source(), field, side);
  return side == "left";
}

// Special tokens, and their usual texts if the directory names none.
struct Special {
  std::string_view role;
  std::array<std::string_view, 3> usual;
};
constexpr Special kSpecials[] = {{"mask_token", {"[MASK]", "<mask>"}},
                                 {"pad_token", {"[PAD]", "<pad>", "__null__"}},
                                 {"unk_token", {"[UNK]", "<unk>", "__unk__"}},
                                 {"cls_token", {"[CLS]", "<s>"}},
                                 {"sep_token", {"[SEP]", "</s>"}}};

}  // namespace

std::optional<TokenId> special_token(const Tokenizer& tokenizer, const std::filesystem::path& directory,
                                     std::string_view role) {
  static constexpr std::string_view qwen2[] = {"Qwen2", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"};
  const TokenizerConfig config(directory);
  const std::string said =
      config.token(role, role == "pad_token" && in(qwen2, config.family()) ? "<|endoftext|>" : "");
  if (!said.empty()) return tokenizer.token_to_id(said);
  for (const Special& special : kSpecials)
    if (special.role == role)
      for (const std::string_view usual : special.usual) {
        if (usual.empty()) continue;
        if (const auto id = tokenizer.token_to_id(usual)) return id;
      }
  return {};
}

bool gives_token_types(const std::filesystem::path& directory) {
  static constexpr std::string_view families[] = {
      "Bert",      "bert",       "Electra", "electra", "Albert", "albert", "Deberta", "deberta",
      "DebertaV2", "deberta-v2", "XLNet",   "xlnet",   "XLM",    "xlm",    "ernie",   "megatron-bert"};
  const TokenizerConfig config(directory);
  const std::vector<std::string> names = config.fields().texts({"model_input_names"});
  if (!names.empty()) return std::find(names.begin(), names.end(), "token_type_ids") != names.end();
  // A tokenizer without a family gives all outputs.
  return config.fields().text({"tokenizer_class"}, "").starts_with("PreTrainedTokenizer") ||
         in(families, config.family());
}

bool cleans_up(const std::filesystem::path& directory, bool is_json) {
  static constexpr std::string_view families[] = {"Bert",       "bert",       "Electra", "electra",
                                                  "DistilBert", "distilbert", "ernie",   "megatron-bert",
                                                  "MPNet",      "mpnet",      "PLBart",  "plbart"};
  const TokenizerConfig config(directory);
  return config.fields().flag({"clean_up_tokenization_spaces"}, !is_json && in(families, config.family()));
}

std::optional<std::size_t> model_max_length(const std::filesystem::path& directory) {
  const auto length = TokenizerConfig(directory).fields().maybe_number({"model_max_length"});
  if (!length || *length < 1 || *length >= 1e9) return {};
  return static_cast<std::size_t>(*length);
}

Truncation::Direction truncation_side(const std::filesystem::path& directory) {
  return is_left(TokenizerConfig(directory), "truncation_side", "right") ? Truncation::Direction::left
                                                                         : Truncation::Direction::right;
}

Padding default_padding(const Tokenizer& tokenizer, const std::filesystem::path& directory) {
  static constexpr std::string_view left[] = {"XLNet",       "xlnet",   "Llama",       "llama",
                                              "Gemma",       "gemma",   "gemma2",      "gemma3",
                                              "gemma3_text", "gemma3n", "gemma3n_text"};
  const TokenizerConfig config(directory);
  Padding padding;
  padding.left = is_left(config, "padding_side", in(left, config.family()) ? "left" : "right");
  if (config.family() == "XLNet" || config.family() == "xlnet") padding.type_id = 3;
  const std::optional<TokenId> id = special_token(tokenizer, directory, "pad_token");
  if (!id) fail("`padding`: the tokenizer has no padding token");
  padding.id = *id;
  padding.token = *tokenizer.id_to_token(*id);
  return padding;
}

}  // namespace attend::tokenizers
