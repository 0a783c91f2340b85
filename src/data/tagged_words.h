// Sentences with a tag for each word: parts of speech, names.
#pragma once

#include "data/table.h"

#include <string>
#include <vector>

namespace attend {

struct TaggedSentence {
  std::vector<std::string> words, tags;  // the same number of both, at least one; no empty ones
  std::string place = {};                // of its first line, for messages: "train.txt, line 17"
};

// - Lines as in CoNLL's files (any ending except JSON's): a word and its tag, an empty line between
//   sentences. Columns are separated by tabs, or in a file without tabs by spaces; the first is the word and
//   the last the tag. Lines with -DOCSTART-, and in files with tabs comments ("# ..."), are skipped.
// - JSON lines: "words" or "tokens", and "tags", "ner_tags", "pos_tags" or "labels"; an integer 3 is the tag
//   "3".
// A sentence with a bad line is bad as a whole, left out and named (bad_rows.h).
std::vector<TaggedSentence> read_tagged_words(const std::vector<std::string>& files,
                                              const TableOptions& options = {});

}  // namespace attend
