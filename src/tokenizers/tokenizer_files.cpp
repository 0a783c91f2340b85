#include "tokenizers/tokenizer_files.h"

#include "base/file.h"

namespace attend::tokenizers {

std::vector<std::string> tokenizer_files(const std::filesystem::path& directory) {
  using namespace file_names;
  std::vector<std::string> names = {tokenizer_json,
                                    tokenizer_config_json,
                                    special_tokens_map_json,
                                    added_tokens_json,
                                    vocab_txt,
                                    vocab_json,
                                    merges_txt,
                                    target_spm,
                                    target_vocab_json};
  names.insert(names.end(), sentencepiece.begin(), sentencepiece.end());
  std::erase_if(names, [&](const std::string& name) { return !file_exists(directory / name); });
  return names;
}

}  // namespace attend::tokenizers
