// What `attend embed` searches, and how it prints what it finds.
#pragma once

#include <attend/vectors.h>

#include "cli/options/bad_inputs.h"
#include "cli/options/given_texts.h"

#include <string>
#include <vector>

namespace attend::cli {

// Texts by their lines, without bad and blank ones, and their vectors.
struct EmbeddedLines {
  std::vector<std::int64_t> lines;
  std::vector<std::string> texts;
  std::vector<std::vector<float>> vectors;

  // Bad texts are reported.
  EmbeddedLines(const GivenTexts& given, std::vector<std::vector<float>> all, BadInputs& bad);

  // As StoredVectors has them.
  std::vector<Neighbour> nearest(const std::vector<float>& query, std::size_t max_count,
                                 Similarity kind) const {
    return attend::nearest(query, vectors, max_count, kind);
  }
  std::int64_t line(std::size_t number) const { return lines[number]; }
  std::optional<std::string> text(std::size_t number) const { return texts[number]; }
};

// Whether a file to search is one of vectors, by its name.
bool holds_vectors(const std::string& path);

struct SearchOptions {
  std::size_t top = 5;
  Similarity similarity = Similarity::cosine;
  bool json = false;
};

// For each query its nearest texts, or where a file of vectors has no texts, their lines. A bad query has
// none.
void print_nearest(const GivenTexts& queries, const std::vector<std::vector<float>>& query_vectors,
                   const EmbeddedLines& among, const SearchOptions& options, BadInputs& bad);
void print_nearest(const GivenTexts& queries, const std::vector<std::vector<float>>& query_vectors,
                   const StoredVectors& among, const SearchOptions& options, BadInputs& bad);

}  // namespace attend::cli
