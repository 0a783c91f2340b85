// classify MODEL TEXT...: what a model that was fine-tuned for it finds each text to be.
//   classify reviews "What a lovely day!" "Never again."
#include <attend/tasks.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: classify MODEL TEXT...\n", stderr);
    return 2;
  }
  try {
    attend::TextClassifier classifier(argv[1]);
    std::vector<attend::TextAndPair> texts;
    for (int i = 2; i < argc; ++i) texts.push_back({argv[i]});
    const auto answers = classifier.classify(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const attend::LabelScore& best = answers[i].front();
      std::printf("%s  %.4f  %s\n", best.label.c_str(), best.score, texts[i].text.c_str());
    }
    return 0;
  } catch (const attend::Error& error) {
    std::fprintf(stderr, "classify: %s\n", error.what());
    return 1;
  }
}
