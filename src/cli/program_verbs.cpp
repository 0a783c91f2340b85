// The verbs that need no torch.
#include "cli/verb.h"

#include <map>

namespace attend::cli {

int tokenize(int argc, char** argv);
int detokenize(int argc, char** argv);
int tokenizer(int argc, char** argv);

RunVerb find_program_verb(const std::string& name) {
  static const std::map<std::string, RunVerb> table = {
      {"tokenize", tokenize}, {"detokenize", detokenize}, {"tokenizer", tokenizer}};
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace attend::cli
