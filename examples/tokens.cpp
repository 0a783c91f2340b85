// tokens TOKENIZER.JSON TEXT...: the tokens of each text, their ids, and where they stand (in characters).
#include <attend/error.h>
#include <attend/tokenizer.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: tokens TOKENIZER.JSON TEXT...\n", stderr);
    return 2;
  }
  try {
    const attend::Tokenizer tokenizer = attend::Tokenizer::from_file(argv[1]);
    for (int i = 2; i < argc; ++i) {
      const attend::Encoding encoding = tokenizer.encode(argv[i]);
      for (std::size_t t = 0; t < encoding.ids.size(); ++t)
        std::printf("%s %d [%u, %u)\n", encoding.tokens[t].c_str(), encoding.ids[t],
                    encoding.offsets[t].begin, encoding.offsets[t].end);
    }
    return 0;
  } catch (const attend::Error& error) {
    std::fprintf(stderr, "tokens: %s\n", error.what());
    return 1;
  }
}
