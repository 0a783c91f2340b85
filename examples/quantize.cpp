// What is in a model, and a copy of it with matrices of 8 bits.
//   quantize MODEL OUTPUT
#include <attend/convert.h>
#include <attend/error.h>
#include <attend/inspect.h>

#include <cstdio>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "quantize MODEL OUTPUT\n");
    return 2;
  }
  const attend::ModelInfo info = attend::inspect(argv[1]);
  std::printf("%s, %llu parameters\n", info.model_type.c_str(),
              static_cast<unsigned long long>(info.parameters));
  attend::quantize(argv[1], argv[2]);
  std::printf("%llu bytes\n", static_cast<unsigned long long>(attend::inspect(argv[2]).files.front().bytes));
  return 0;
} catch (const attend::Error& error) {
  std::fprintf(stderr, "quantize: %s\n", error.what());
  return 1;
}
