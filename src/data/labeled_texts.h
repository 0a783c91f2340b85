// Texts with labels, numbers or second texts, from tables (table.h explains which columns are read). Bad
// rows, including those with an empty text or label, are skipped with one warning.
#pragma once

#include "data/table.h"

#include <optional>
#include <string>
#include <vector>

namespace attend {

struct LabeledText {
  std::string text;
  std::optional<std::string> pair;
  std::vector<std::string> labels;  // their names
  std::vector<double> values;       // finite
  std::string place = {};           // for messages: "train.tsv, line 17"
};

// Each text with one label. Without a header: text, label, or text, pair, label. JSON's integers and booleans
// are labels by the names "3" and "true".
std::vector<LabeledText> read_classification(const std::vector<std::string>& files,
                                             const TableOptions& options = {});

struct MultiLabelTexts {
  std::vector<LabeledText> rows;
  std::vector<std::string> labels;  // the names of all labels; empty if rows have numbers
};

// Each text with any number of labels, from "labels" (or "label"): a JSON list of names or integers, such as
// ["x", "y"]. In TSV and CSV the cell is such a list or one label, and empty for none; or each label has its
// own column with 0 or 1. Alternatively rows have `values`, one number for each label, as in transformers'
// training: lists of fractional numbers, or of 0 and 1 if all have the same length and one of them repeats a
// number, which a list of names never does. Then all rows have the same number of values, and no `labels`.
// Warns of labels that look like several in one cell.
MultiLabelTexts read_multi_label(const std::vector<std::string>& files, const TableOptions& options = {});

// Each text with one number or, in JSON, a list of numbers of a fixed length; they are in `values`. Without a
// header: text, number, or text, pair, number.
std::vector<LabeledText> read_regression(const std::vector<std::string>& files,
                                         const TableOptions& options = {});

struct TextPair {
  std::string text, pair;
  double score = 0;
};

// Two texts that belong together. Without a header: text, text.
std::vector<TextPair> read_pairs(const std::vector<std::string>& files, const TableOptions& options = {});
// Two texts and a number. Without a header: score, text, text.
std::vector<TextPair> read_scored_pairs(const std::vector<std::string>& files,
                                        const TableOptions& options = {});

// A label's name in a table's cell or a JSON value: a text, an integer or a boolean. Throws Error that begins
// with the place if it is another value or empty.
std::string label_name(const Json& value, const std::string& place);

// The different names in the order of their ids: by number if all are integers, else by name, as in
// transformers' examples.
std::vector<std::string> in_label_order(std::vector<std::string> names);
// The names of all labels, in that order.
std::vector<std::string> label_names(const std::vector<LabeledText>& rows);

}  // namespace attend
