// Runs a fuzz target without libFuzzer: its seeds, and a fixed number of inputs mutated from them, the same
// in every run. `make test` does this with every compiler; scripts/fuzz has the long runs.
//
//   tokenizer-replay MUTATIONS        the seeds and this many inputs
//   tokenizer-replay --write FOLDER   writes the seeds as files, a corpus for libFuzzer
//   tokenizer-replay FILE...          these inputs, such as those that libFuzzer stores
#include "fuzz/fuzz.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>

#include <sys/resource.h>

namespace {

using attend::fuzz::seeds;

constexpr std::size_t max_size = 1 << 16;

void try_input(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string make() {
    std::string text = seeds_[below(seeds_.size())];
    for (std::size_t count = 1 + below(4); count > 0; --count) change(text);
    if (text.size() > max_size) text.resize(max_size);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % std::max<std::size_t>(limit, 1); }

  // The first byte, which determines the meaning of the rest, stays.
  void change(std::string& text) {
    const std::size_t at = 1 + below(text.size() - 1),
                      size = 1 + below(std::min<std::size_t>(text.size() - at, 64));
    if (at >= text.size()) {
      text += static_cast<char>(below(256));
      return;
    }
    switch (below(8)) {
      case 0:  // one bit
        text[at] = static_cast<char>(text[at] ^ 1 << below(8));
        break;
      case 1:  // one byte
        text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, size);
        break;
      case 3:  // repeat a part
        text.insert(at, text.substr(at, size));
        break;
      case 4:
        text.resize(at);
        break;
      case 5: {  // a part of another input
        const std::string& other = seeds_[below(seeds_.size())];
        text.insert(at, other, below(other.size()), size);
        break;
      }
      case 6: {  // a number at the limits of its type
        static constexpr const char* numbers[] = {"-1",  "0",    "1e99", "4294967296", "9223372036854775807",
                                                  "0.5", "null", "[]",   "{}",         "\"\""};
        const std::size_t digit = std::min(text.find_first_of("0123456789", at), text.size());
        const std::size_t end = std::min(text.find_first_not_of("0123456789.", digit), text.size());
        text.replace(digit, end - digit, numbers[below(std::size(numbers))]);
        break;
      }
      default: {  // two parts exchanged
        const std::size_t other = 1 + below(text.size() - 1);
        const std::string part = text.substr(at, size);
        text.erase(at, size);
        text.insert(std::min(other, text.size()), part);
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::minstd_rand random_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> inputs = seeds();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--write") {
    std::filesystem::create_directories(arguments[1]);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      attend::write_file_atomically(std::filesystem::path(arguments[1]) / ("seed-" + std::to_string(i)),
                                    inputs[i]);
    return 0;
  }
  const bool is_number =
      arguments.size() == 1 && arguments[0].find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) {
    for (const std::string& path : arguments) try_input(attend::read_file(path));
    return 0;
  }
#ifndef __SANITIZE_ADDRESS__  // the sanitizer maps terabytes itself
  const rlimit limit{std::uint64_t{4} << 30, std::uint64_t{4} << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
  for (const std::string& input : inputs) try_input(input);
  Mutator mutator(inputs);
  const std::filesystem::path last =
      std::filesystem::temp_directory_path() /
      (std::filesystem::path(argv[0]).filename().string() + "-" + std::to_string(getpid()) + ".input");
  for (unsigned long i = 0, count = std::stoul(arguments[0]); i < count; ++i) {
    const std::string input = mutator.make();
    std::ofstream(last, std::ios::binary) << input;  // the input of a possible crash
    try_input(input);
  }
  std::filesystem::remove(last);
  std::printf("%zu seeds and %s mutated inputs: nothing found\n", inputs.size(), arguments[0].c_str());
  return 0;
}
