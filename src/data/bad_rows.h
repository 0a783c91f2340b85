// Rows of a data set that cannot be read are left out, counted and named: one bad line in a million must not
// end a run, and must not be passed over in silence either.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace attend {

class BadRows {
 public:
  // `source` names the data ("train.tsv"), `expected` what a row is ("a text and a label"), `unit` many rows
  // ("rows", "sentences"): for messages.
  BadRows(std::string source, std::string expected, std::string unit = "rows");

  // Calls `read` for one row: a row is bad if an Error comes out, whose message must begin with the place.
  template <class Read>
  void read(Read&& read_row) {
    try {
      std::forward<Read>(read_row)();
      ++good_;
    } catch (const Error& error) {
      add(error.what());
    }
  }
  // A bad row, and why: "train.tsv, line 17: expected 2 columns, found 1".
  void add(std::string reason);

  // What to try if most rows are bad.
  void advise(std::string advice) { advice_ = std::move(advice); }

  // After the last row. One warning if some rows were bad, with how many of how many and the first three
  // reasons; Error if more than half were, or if no row is left.
  void report() const;

 private:
  std::string source_, expected_, unit_, advice_;
  std::size_t good_ = 0, bad_ = 0;
  std::vector<std::string> first_;
};

}  // namespace attend
