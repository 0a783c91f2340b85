// What Python's strings do, exactly: sacrebleu and sentence-transformers are written in it, and their numbers
// follow from it. Text must be valid UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend {

// str.isspace() of one character.
bool is_space(char32_t c);

// unicodedata.category() starts with C: control and format characters, private and unassigned ones.
bool is_other(char32_t c);

// unicodedata.category() begins with P, or a visible character of ASCII that is neither letter nor digit.
bool is_punctuation(char32_t c);

// unicodedata.category() is Mn.
bool is_nonspacing_mark(char32_t c);

// unicodedata.combining(); 0: not a combining character.
int combining_class(char32_t c);

// str.split(): maximal runs without white space, Unicode's included. The views are into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// str.rstrip() and str.strip().
std::string_view strip_end(std::string_view text);
std::string_view strip(std::string_view text);

// Whether the capital sigma text[at] ends a word, so that str.lower() uses its final form: a cased letter
// comes before it and none after it, ignoring Case_Ignorable characters.
bool is_final_sigma(std::u32string_view text, std::size_t at);

// str.lower() of one character, U+0130 aside, which becomes two.
char32_t lowercase(char32_t c);

// str.lower(), with its two cases that are not letter by letter: capital sigma at a word's end, dotted I.
std::string lowercase(std::string_view text);

}  // namespace attend
