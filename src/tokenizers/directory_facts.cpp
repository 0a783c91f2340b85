#include "tokenizers/directory_facts.h"

#include "tokenizers/tokenizer_config.h"

#include <algorithm>
#include <array>

namespace attend::tokenizers {
namespace {

// Special tokens, and what they usually are where the directory does not say.
struct Special {
  std::string_view role;
  std::array<const char*, 2> usual;
};
constexpr Special kSpecials[] = {{"mask_token", {"[MASK]", "<mask>"}},
                                 {"pad_token", {"[PAD]", "<pad>"}},
                                 {"unk_token", {"[UNK]", "<unk>"}},
                                 {"cls_token", {"[CLS]", "<s>"}},
                                 {"sep_token", {"[SEP]", "</s>"}}};

}  // namespace

std::optional<TokenId> special_token(const Tokenizer& tokenizer, const std::filesystem::path& directory,
                                     std::string_view role) {
  const std::string said = TokenizerConfig(directory).token(role, "");
  if (!said.empty()) return tokenizer.token_to_id(said);
  for (const Special& special : kSpecials)
    if (special.role == role)
      for (const char* usual : special.usual)
        if (const auto id = tokenizer.token_to_id(usual)) return id;
  return {};
}

bool gives_token_types(const std::filesystem::path& directory) {
  static constexpr std::string_view families[] = {"Bert",   "bert",    "Electra", "electra",   "Albert",
                                                  "albert", "Deberta", "deberta", "DebertaV2", "deberta-v2",
                                                  "XLNet",  "xlnet",   "XLM",     "xlm"};
  const auto in = [](const auto& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  const TokenizerConfig config(directory);
  const std::vector<std::string> names = config.fields().texts({"model_input_names"});
  return names.empty() ? in(families, config.family()) : in(names, "token_type_ids");
}

}  // namespace attend::tokenizers
