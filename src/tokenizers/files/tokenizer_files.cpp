#include "tokenizers/files/tokenizer_files.h"

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
                                    vocab_pkl,
                                    vocab_bin,
                                    target_spm,
                                    target_vocab_json};
  names.insert(names.end(), sentencepiece.begin(), sentencepiece.end());
  std::erase_if(names, [&](const std::string& name) { return !file_exists(directory / name); });
  return names;
}

void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::vector<std::string> names = tokenizer_files(from);
  if (names.empty() || (std::filesystem::exists(to) && std::filesystem::equivalent(from, to))) return;
  for (const std::string& name : names) write_file_atomically(to / name, read_file(from / name));
}

}  // namespace attend::tokenizers
