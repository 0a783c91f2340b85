// translate MODEL TEXT...: the translation of each text with a Marian model.
//   translate opus-mt-en-de "A dog runs on the beach."
#include <attend/attend.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: translate MODEL TEXT...\n";
    return 2;
  }
  try {
    attend::Translator translator(argv[1]);
    for (const std::string& translation : translator.translate({argv + 2, argv + argc}))
      std::cout << translation << "\n";
    return 0;
  } catch (const attend::Error& error) {
    std::cerr << "translate: " << error.what() << "\n";
    return 1;
  }
}
