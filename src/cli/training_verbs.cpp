// The verbs that need gradients, in attend-training.so, which stands on libattend-training and torch.
#include "cli/both_modules.h"
#include "cli/verb.h"
#include "training/bench.h"

#include <map>

namespace attend::cli {

int explain(int argc, char** argv);
int init(int argc, char** argv);
int train(int argc, char** argv);

extern "C" RunVerb attend_find_module_verb(const char* name) {
  static const std::map<std::string, RunVerb> table = {
      {"bench", [](int argc, char** argv) { return bench(argc, argv, training_work); }},
      {"evaluate", [](int argc, char** argv) { return evaluate(argc, argv, attend::evaluate); }},
      {"explain", explain},
      {"forward", forward},
      {"init", init},
      {"train", train}};
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace attend::cli
