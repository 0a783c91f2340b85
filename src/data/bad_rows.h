// Rows that cannot be read are skipped, counted and named: one bad line in a million must not end a run, and
// must not be ignored silently.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace attend {

class BadRows {
 public:
  // For messages: `source` names the data ("train.tsv"), `expected` describes a row ("a text and a label"),
  // `unit` is the plural noun ("rows", "sentences").
  BadRows(std::string source, std::string expected, std::string unit = "rows");

  // Calls `read` for one row. The row is bad if it throws an Error, whose message must start with the place.
  template <class Read>
  void read(Read&& read_row) {
    try {
      std::forward<Read>(read_row)();
      ++good_;
    } catch (const Error& error) {
      add(error.what());
    }
  }
  // A bad row and the reason: "train.tsv, line 17: expected 2 columns, found 1".
  void add(std::string reason);

  // Advice if most rows are bad.
  void advise(std::string advice) { advice_ = std::move(advice); }

  // Call after the last row. Warns once if some rows were bad, with their number, the total and the first
  // three reasons. Throws Error if more than half were bad, or if no row is left.
  void report() const;

 private:
  std::string source_, expected_, unit_, advice_;
  std::size_t good_ = 0, bad_ = 0;
  std::vector<std::string> first_;
};

}  // namespace attend
