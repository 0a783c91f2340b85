// search MODEL FILE QUESTION...: for each question the three lines of the file that are nearest to it in
// meaning.
//   search all-MiniLM-L6-v2 captions.txt "someone making music outdoors"
#include <attend/attend.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: search MODEL FILE QUESTION...\n", stderr);
    return 2;
  }
  try {
    attend::Embedder embedder(argv[1]);
    std::ifstream file(argv[2]);
    if (!file) throw attend::Error(std::string(argv[2]) + ": cannot be read");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    const auto vectors = embedder.embed(lines);  // once, whatever will be asked

    const std::vector<std::string> questions(argv + 3, argv + argc);
    const auto asked = embedder.embed(questions);
    for (std::size_t q = 0; q < questions.size(); ++q) {
      std::vector<std::pair<float, std::size_t>> found;
      for (std::size_t i = 0; i < lines.size(); ++i)
        found.emplace_back(attend::cosine_similarity(asked[q], vectors[i]), i);
      const auto end = found.begin() + std::min<std::ptrdiff_t>(3, std::ssize(found));
      std::partial_sort(found.begin(), end, found.end(), std::greater());
      std::printf("%s\n", questions[q].c_str());
      for (auto it = found.begin(); it != end; ++it)
        std::printf("  %.4f  %s\n", it->first, lines[it->second].c_str());
    }
    return 0;
  } catch (const attend::Error& error) {
    std::fprintf(stderr, "search: %s\n", error.what());
    return 1;
  }
}
