#include "tokenizers/text/trie.h"

#include "tokenizers/models/vocabulary.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace attend::tokenizers {
namespace {

using Found = std::vector<std::pair<std::size_t, TokenId>>;

Found prefixes(const Trie& trie, std::string_view text) {
  Found found;
  trie.find_prefixes(text, [&](std::size_t length, TokenId value) { found.emplace_back(length, value); });
  return found;
}

// Few letters make deep tries, all bytes make wide ones.
std::vector<std::string> random_texts(std::size_t count, unsigned letters, std::size_t longest) {
  std::minstd_rand random(letters);
  std::vector<std::string> texts(count);
  for (std::string& text : texts)
    for (std::size_t size = 1 + random() % longest; size > 0; --size)
      text += static_cast<char>(letters == 256 ? random() : 'a' + random() % letters);
  return texts;
}

TEST(Trie, FindsWhatAMapFinds) {
  for (const auto& [letters, longest] : {std::pair(2U, 12), {26U, 6}, {256U, 3}}) {
    const std::vector<std::string> texts = random_texts(5000, letters, static_cast<std::size_t>(longest));
    std::vector<Trie::Entry> entries;
    std::map<std::string_view, TokenId> known;
    for (std::size_t i = 0; i < texts.size(); i += 2) {
      entries.push_back({texts[i], static_cast<TokenId>(i)});
      known.emplace(texts[i], static_cast<TokenId>(i));  // the first one counts
    }
    const Trie trie(entries);
    for (const std::string& text : texts) {
      Found expected;
      for (std::size_t length = 1; length <= text.size(); ++length)
        if (const auto found = known.find(std::string_view(text).substr(0, length)); found != known.end())
          expected.emplace_back(length, found->second);
      ASSERT_EQ(prefixes(trie, text), expected) << letters << " letters, " << text;
    }
  }
}

TEST(Trie, ContinuesFromANode) {
  const Trie trie({{"a", 1}, {"abc", 2}, {"", 3}, {std::string_view("a\0", 2), Vocabulary::max_id}});
  EXPECT_EQ(trie.step(trie.step(trie.root(), "a"), "bc").value, 2);
  EXPECT_EQ(trie.step(trie.root(), "ab").value, -1);
  EXPECT_EQ(trie.step(trie.step(trie.root(), "abc"), "a").value, -1);
  EXPECT_EQ(trie.step(trie.step(trie.root(), "x"), "a").value, -1);
  EXPECT_EQ(trie.step(trie.root(), std::string_view("a\0", 2)).value, Vocabulary::max_id);
  EXPECT_FALSE(trie.empty());
}

TEST(Trie, OfNoTextsFindsNothing) {
  for (const Trie& trie : {Trie(), Trie(std::vector<Trie::Entry>()), Trie({Trie::Entry{"", 1}})}) {
    EXPECT_TRUE(trie.empty());
    EXPECT_EQ(prefixes(trie, std::string("\0a", 2)), Found());
  }
}

TEST(Vocabulary, FindsManyAtOnce) {
  const std::vector<std::string> texts = random_texts(3000, 3, 9);
  Vocabulary vocabulary;
  for (std::size_t i = 0; i < texts.size(); i += 3)
    if (vocabulary.find(texts[i]) < 0) vocabulary.add(texts[i], static_cast<std::int64_t>(i), "test");
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<TokenId> ids(views.size());
  vocabulary.find(views, ids);
  for (std::size_t i = 0; i < views.size(); ++i) EXPECT_EQ(ids[i], vocabulary.find(views[i]));
  EXPECT_GT(std::count(ids.begin(), ids.end(), -1), 0);
  Vocabulary().find(views, ids);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), -1), static_cast<std::ptrdiff_t>(ids.size()));
}

}  // namespace
}  // namespace attend::tokenizers
