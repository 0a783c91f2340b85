// forward MODEL ID...: what a model makes of token ids, as transformers' forward gives it.
//   forward bert-base-uncased 101 7592 102
#include <attend/model.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: forward MODEL ID...\n";
    return 2;
  }
  try {
    const attend::Model model(argv[1]);
    std::vector<std::int64_t> ids;
    for (int i = 2; i < argc; ++i) ids.push_back(std::stoll(argv[i]));
    const auto length = static_cast<std::int64_t>(ids.size());
    const attend::Arrays outputs = model.forward({{"input_ids", attend::Array({1, length}, ids)}});
    std::cout << model.architecture() << ", " << model.size() << " weights\n";
    for (const auto& [name, array] : outputs) {
      std::cout << name;
      for (const std::int64_t size : array.shape) std::cout << " " << size;
      std::cout << "\n";
    }
    return 0;
  } catch (const attend::Error& error) {
    // The kind of the error says what must change: the ids, the model's files, or this program.
    const bool input = error.kind() == attend::ErrorKind::input;
    std::cerr << "forward: " << (input ? "these ids: " : "") << error.what() << "\n";
    return 1;
  } catch (const std::exception&) {
    std::cerr << "forward: expected ids, such as 101\n";
    return 2;
  }
}
