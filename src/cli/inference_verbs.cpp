// The verbs that run models, in attend-inference.so, which stands on libattend and loads no torch.
#include "cli/both_modules.h"
#include "cli/verb.h"

#include <map>

namespace attend::cli {

int adapter(int argc, char** argv);
int chat(int argc, char** argv);
int convert(int argc, char** argv);
int embed(int argc, char** argv);
int generate(int argc, char** argv);
int inspect(int argc, char** argv);
int quantize(int argc, char** argv);
int run(int argc, char** argv);
int translate(int argc, char** argv);

extern "C" RunVerb attend_find_module_verb(const char* name) {
  static const std::map<std::string, RunVerb> table = {
      {"adapter", adapter}, {"bench", [](int argc, char** argv) { return bench(argc, argv, {}); }},
      {"chat", chat},       {"convert", convert},
      {"embed", embed},     {"evaluate", [](int argc, char** argv) { return evaluate(argc, argv, {}); }},
      {"forward", forward}, {"generate", generate},
      {"inspect", inspect}, {"quantize", quantize},
      {"run", run},         {"translate", translate}};
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace attend::cli
