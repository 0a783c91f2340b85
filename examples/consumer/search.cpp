// search MODEL QUESTION TEXT...: the texts in the order of how near they are to the question in meaning.
#include <attend/attend.h>

#include <algorithm>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: search MODEL QUESTION TEXT...\n", stderr);
    return 2;
  }
  try {
    attend::Embedder embedder(argv[1]);
    const auto vectors = embedder.embed({argv + 2, argv + argc});  // the question first
    std::vector<std::pair<float, const char*>> found;
    for (std::size_t i = 1; i < vectors.size(); ++i)
      found.emplace_back(attend::cosine_similarity(vectors[0], vectors[i]), argv[i + 2]);
    std::sort(found.rbegin(), found.rend());
    for (const auto& [score, text] : found) std::printf("%.4f  %s\n", score, text);
    return 0;
  } catch (const attend::Error& error) {
    std::fprintf(stderr, "search: %s\n", error.what());
    return 1;
  }
}
