// search MODEL FILE QUESTION...: for each question the three lines of the file that are nearest to it in
// meaning.
//   search all-MiniLM-L6-v2 captions.txt "someone making music outdoors"
#include <attend/attend.h>

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
    for (std::string line; std::getline(file, line);)
      if (!line.empty()) lines.push_back(line);
    attend::EmbedOptions document, query;  // models may have a prompt for each
    document.role = attend::TextRole::document;
    query.role = attend::TextRole::query;
    const auto vectors = embedder.embed(lines, document);  // once, whatever will be asked

    const std::vector<std::string> questions(argv + 3, argv + argc);
    const auto asked = embedder.embed(questions, query);
    for (std::size_t q = 0; q < questions.size(); ++q) {
      std::printf("%s\n", questions[q].c_str());
      for (const attend::Neighbour& found : attend::nearest(asked[q], vectors, 3, embedder.similarity()))
        std::printf("  %.4f  %s\n", found.similarity, lines[found.number].c_str());
    }
    return 0;
  } catch (const attend::Error& error) {
    std::fprintf(stderr, "search: %s\n", error.what());
    return 1;
  }
}
