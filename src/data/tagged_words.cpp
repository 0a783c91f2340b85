#include "data/tagged_words.h"

#include "data/bad_rows.h"
#include "data/labeled_texts.h"
#include "data/lines.h"

#include <algorithm>

namespace attend {
namespace {

const char* const kTagsExpected = "words with a tag each";

// A line's first and last column.
std::pair<std::string_view, std::string_view> word_and_tag(std::string_view line, bool tabs,
                                                           const std::string& place) {
  const std::string_view separators = tabs ? "\t" : " ";
  const std::string_view word = trimmed(line.substr(0, line.find_first_of(separators)));
  const std::size_t last = line.find_last_of(separators);
  const std::string_view tag = last == line.npos ? std::string_view() : trimmed(line.substr(last + 1));
  if (word.empty() || tag.empty()) fail("{}: expected a word and its tag, found '{}'", place, line);
  return {word, tag};
}

// Lines of one sentence, which is read once it is complete.
class SentenceLines {
 public:
  SentenceLines(bool tabs, BadRows& bad, std::vector<TaggedSentence>& sentences)
      : tabs_(tabs), bad_(bad), sentences_(sentences) {}

  void add(std::string_view line, std::string place) { lines_.emplace_back(line, std::move(place)); }
  void end() {
    if (lines_.empty()) return;
    bad_.read([&] {
      TaggedSentence sentence;
      sentence.place = lines_.front().second;
      for (const auto& [line, place] : lines_) {
        check_utf8(line, place);
        const auto [word, tag] = word_and_tag(line, tabs_, place);
        sentence.words.emplace_back(word);
        sentence.tags.emplace_back(tag);
      }
      sentences_.push_back(std::move(sentence));
    });
    lines_.clear();
  }

 private:
  bool tabs_;
  BadRows& bad_;
  std::vector<TaggedSentence>& sentences_;
  std::vector<std::pair<std::string_view, std::string>> lines_;
};

void read_word_lines(const std::string& file, BadRows& bad, std::vector<TaggedSentence>& sentences) {
  const TextFile whole(file);
  const bool tabs = whole.text().find('\t') != std::string_view::npos;
  LineReader lines(whole.text(), file);
  SentenceLines sentence(tabs, bad, sentences);
  while (const auto raw = lines.next()) {
    const std::string_view line = tabs ? *raw : trimmed(*raw);
    if (trimmed(line).empty())
      sentence.end();
    else if (!line.starts_with("-DOCSTART-") &&
             !(tabs && line.starts_with("# ") && line.find('\t') == line.npos))
      sentence.add(line, lines.place());
  }
  sentence.end();
}

TaggedSentence sentence_of(const Fields& row) {
  TaggedSentence sentence;
  sentence.place = row.source();
  for (const std::string role : {"words", "tags"}) {
    const Json& list = row.json().at(role);
    if (!list.is_array()) fail("{}: {}: expected a list, found {}", row.source(), role, shown(list));
    std::vector<std::string>& items = role == "words" ? sentence.words : sentence.tags;
    for (const Json& item : list) {
      if (role == "words" && !item.is_string())
        fail("{}: words: expected a text for each, found {}", row.source(), shown(item));
      items.push_back(label_name(item, row.source()));
    }
  }
  if (sentence.words.empty() || sentence.words.size() != sentence.tags.size())
    fail("{}: expected as many tags as words, and at least one; found {} words and {} tags", row.source(),
         sentence.words.size(), sentence.tags.size());
  return sentence;
}

}  // namespace

std::vector<TaggedSentence> read_tagged_words(const std::vector<std::string>& files,
                                              const TableOptions& options) {
  std::vector<TaggedSentence> sentences;
  BadRows bad(name_of_files(files), kTagsExpected, "sentences");
  bool lines = false;
  for (const std::string& file : files) {
    const std::string ending = std::filesystem::path(file).extension().string();
    const bool json = options.format ? *options.format == TableFormat::json_lines
                                     : ending == ".jsonl" || ending == ".json" || ending == ".ndjson";
    if (json) {
      read_table({file}, {TableFormat::json_lines, options.columns}, {kTagsExpected, {{"words", "tags"}}},
                 [&](const Fields& row) { sentences.push_back(sentence_of(row)); });
      continue;
    }
    if (!options.columns.empty())
      fail("{}: the columns of tagged words are the word first and the tag last; only JSON's are named",
           file);
    read_word_lines(file, bad, sentences);
    lines = true;
  }
  if (lines) bad.report();
  return sentences;
}

}  // namespace attend
