// The verbs of the program: all but the one that needs a library of HTTP.
#include "cli/verb.h"

#include <map>

namespace attend::cli {

int adapter(int argc, char** argv);
int bench(int argc, char** argv);
int chat(int argc, char** argv);
int convert(int argc, char** argv);
int detokenize(int argc, char** argv);
int embed(int argc, char** argv);
int evaluate(int argc, char** argv);
int explain(int argc, char** argv);
int forward(int argc, char** argv);
int generate(int argc, char** argv);
int init(int argc, char** argv);
int inspect(int argc, char** argv);
int quantize(int argc, char** argv);
int run(int argc, char** argv);
int tokenize(int argc, char** argv);
int tokenizer(int argc, char** argv);
int train(int argc, char** argv);
int translate(int argc, char** argv);

RunVerb find_program_verb(const std::string& name) {
  static const std::map<std::string, RunVerb> table = {{"adapter", adapter},
                                                       {"bench", bench},
                                                       {"chat", chat},
                                                       {"convert", convert},
                                                       {"detokenize", detokenize},
                                                       {"embed", embed},
                                                       {"evaluate", evaluate},
                                                       {"explain", explain},
                                                       {"forward", forward},
                                                       {"generate", generate},
                                                       {"init", init},
                                                       {"inspect", inspect},
                                                       {"quantize", quantize},
                                                       {"run", run},
                                                       {"tokenize", tokenize},
                                                       {"tokenizer", tokenizer},
                                                       {"train", train},
                                                       {"translate", translate}};
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace attend::cli
