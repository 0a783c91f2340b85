// What a model does with a text: the page of attention, and how much each token contributes to its label.
//   explain MODEL TEXT PAGE.html
#include <attend/error.h>
#include <attend/explain.h>

#include <cstdio>
#include <fstream>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "explain MODEL TEXT PAGE.html\n");
    return 2;
  }
  attend::ExplainOptions options;
  options.attribution.methods = {"integrated-gradients"};
  const attend::Explained explained = attend::explain(argv[1], {.text = argv[2]}, options);
  std::ofstream(argv[3]) << explained.page();
  for (const auto& [method, token, score] : explained.token_scores())
    std::printf("%-8s %+.4f\n", token.c_str(), score);
  return 0;
} catch (const attend::Error& error) {
  std::fprintf(stderr, "explain: %s\n", error.what());
  return 1;
}
