#include "tokenizers/trainers/trainer.h"

#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

namespace attend::tokenizers {
namespace {

const std::filesystem::path data = test_data() / "tokenizers/training";

class Training : public testing::Test {
 protected:
  Tokenizer trained(const TrainerOptions& options) {
    train_tokenizer(options, {data / "corpus.txt"}).save(directory);
    return Tokenizer::from_file(directory);
  }
  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path();
};

// Vocabulary and merges equal those of `tokenizers`' BpeTrainer (tests/oracle/make_tokenizer_goldens.py).
TEST_F(Training, ByteLevelBpeIsThatOfTokenizers) {
  const Json expected = read_json(data / "trained.json");
  TrainerOptions gpt2{.preset = TrainerOptions::Preset::gpt2, .vocabulary_size = 500};
  TrainerOptions translation{
      .preset = TrainerOptions::Preset::translation, .vocabulary_size = 420, .min_frequency = 2};
  for (const auto& [name, options] : {std::pair{"gpt2", gpt2}, std::pair{"translation", translation}}) {
    const TrainedTokenizer trained = train_tokenizer(options, {data / "corpus.txt"});
    const Json model = parse_json(trained.tokenizer_json, name).at("model");
    EXPECT_EQ(model.at("vocab"), expected.at(name).at("vocab")) << name;
    EXPECT_EQ(model.at("merges"), expected.at(name).at("merges")) << name;
  }
}

TEST_F(Training, MetaspaceBpeIsThatOfTokenizers) {
  const Json expected = read_json(data / "trained.json").at("metaspace");
  const TrainedTokenizer trained = train_tokenizer({.model = TrainerOptions::Model::metaspace,
                                                    .preset = TrainerOptions::Preset::translation,
                                                    .vocabulary_size = 400},
                                                   {data / "corpus.txt"});
  Json model = parse_json(trained.tokenizer_json, "metaspace").at("model");
  for (const auto& [field, value] : expected.items()) EXPECT_EQ(model[field], value) << field;
  trained.save(directory);
  const Tokenizer tokenizer = Tokenizer::from_file(directory);
  const std::string text = "The lamp in the hall.";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text).ids, true), text);
}

// `tokenizers` sums numbers in another order, so the last digits differ; and it has unneeded characters in
// the order of a hash table, each 0.0001 above the previous one.
TEST_F(Training, UnigramIsThatOfTokenizers) {
  const Json expected = read_json(data / "trained.json").at("unigram");
  const TrainedTokenizer trained = train_tokenizer({.model = TrainerOptions::Model::unigram,
                                                    .preset = TrainerOptions::Preset::translation,
                                                    .vocabulary_size = 260},
                                                   {data / "corpus.txt"});
  const Json model = parse_json(trained.tokenizer_json, "unigram").at("model");
  EXPECT_EQ(model.at("unk_id"), expected.at("unk_id"));
  const auto scores = [](const Json& pieces) {
    std::map<std::string, double> scores;
    for (const Json& piece : pieces) scores[piece.at(0)] = piece.at(1);
    return scores;
  };
  const auto ours = scores(model.at("vocab")), theirs = scores(expected.at("vocab"));
  EXPECT_EQ(ours.size(), 259u);
  EXPECT_EQ(ours.size(), theirs.size());
  const double least = expected.at("vocab").back().at(1);
  for (const auto& [piece, score] : theirs) {
    ASSERT_TRUE(ours.contains(piece)) << piece;
    EXPECT_NEAR(ours.at(piece), score, score < least + 0.01 ? 0.01 : 1e-6) << piece;
  }
}

TEST_F(Training, UnigramIsTheSameOnAnyNumberOfThreads) {
  const TrainerOptions options{.model = TrainerOptions::Model::unigram, .vocabulary_size = 280};
  const std::string text = train_tokenizer(options, {data / "corpus.txt"}).tokenizer_json;
  set_thread_count(1);
  EXPECT_EQ(train_tokenizer(options, {data / "corpus.txt"}).tokenizer_json, text);
  set_thread_count(0);
}

TEST_F(Training, UnigramGivesTextBackAndKnowsNoMoreThanItsAlphabet) {
  const Tokenizer tokenizer = trained({.model = TrainerOptions::Model::unigram,
                                       .preset = TrainerOptions::Preset::bert,
                                       .vocabulary_size = 120,
                                       .limit_alphabet = 60});
  const std::string text = "the lamp in the hall";
  const Encoding encoding = tokenizer.encode(text);
  EXPECT_EQ(encoding.tokens.front(), "[CLS]");
  EXPECT_EQ(tokenizer.decode(encoding.ids, true), text);
  const TokenId unknown = *tokenizer.token_to_id("[UNK]");
  const std::vector<TokenId> ids = tokenizer.encode("窗").ids;
  EXPECT_NE(std::find(ids.begin(), ids.end(), unknown), ids.end());
}

// Special tokens have the ids of the families' own checkpoints, with their templates.
TEST_F(Training, PresetsAreWhatTheFamiliesHave) {
  using Preset = TrainerOptions::Preset;
  using Kind = TrainerOptions::Model;
  struct Case {
    Preset preset;
    Kind model;
    std::vector<std::string> first_tokens, around, around_two;  // $A and $B are left out of the last two
  };
  const Case cases[] = {{Preset::bart,
                         Kind::bpe,
                         {"<s>", "<pad>", "</s>", "<unk>", "<mask>"},
                         {"<s>", "</s>"},
                         {"<s>", "</s>", "</s>", "</s>"}},
                        {Preset::t5, Kind::unigram, {"<pad>", "</s>", "<unk>"}, {"</s>"}, {"</s>", "</s>"}},
                        {Preset::xlnet,
                         Kind::unigram,
                         {"<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"},
                         {"<sep>", "<cls>"},
                         {"<sep>", "<sep>", "<cls>"}}};
  for (const Case& c : cases) {
    const Tokenizer tokenizer = trained({.model = c.model, .preset = c.preset, .vocabulary_size = 420});
    for (std::size_t id = 0; id < c.first_tokens.size(); ++id)
      EXPECT_EQ(tokenizer.token_to_id(c.first_tokens[id]), static_cast<TokenId>(id)) << c.first_tokens[id];
    const auto special = [](const Encoding& encoding) {
      std::vector<std::string> tokens;
      for (std::size_t i = 0; i < encoding.tokens.size(); ++i)
        if (encoding.special_tokens_mask[i] != 0) tokens.push_back(encoding.tokens[i]);
      return tokens;
    };
    EXPECT_EQ(special(tokenizer.encode("the lamp")), c.around);
    EXPECT_EQ(special(tokenizer.encode_pair("the lamp", "the hall")), c.around_two);
  }
  const Tokenizer t5 = trained({.model = Kind::unigram, .preset = Preset::t5, .vocabulary_size = 420});
  const auto last = static_cast<TokenId>(t5.vocabulary_size() - 1);
  EXPECT_EQ(t5.token_to_id("<extra_id_0>"), last);
  EXPECT_EQ(t5.token_to_id("<extra_id_99>"), last - 99);
}

// Only repetitions: every piece is expected less often than the minimum.
TEST_F(Training, UnigramOfOneLongRun) {
  write_file_atomically(directory / "run.txt", std::string(40, 'a') + "\n");
  const TrainedTokenizer trained = train_tokenizer(
      {.model = TrainerOptions::Model::unigram, .vocabulary_size = 10}, {directory / "run.txt"});
  trained.save(directory);
  EXPECT_EQ(Tokenizer::from_file(directory).decode(Tokenizer::from_file(directory).encode("aaa").ids), "aaa");
}

TEST_F(Training, SeveralFilesCountTogether) {
  const std::string text = read_file(data / "corpus.txt");
  const std::size_t half = text.find('\n', text.size() / 2) + 1;
  const std::filesystem::path first = directory / "first", second = directory / "second";
  write_file_atomically(first, text.substr(0, half));
  write_file_atomically(second, text.substr(half));
  const TrainerOptions options{.vocabulary_size = 400};
  EXPECT_EQ(train_tokenizer(options, {first, second}).tokenizer_json,
            train_tokenizer(options, {data / "corpus.txt"}).tokenizer_json);
}

TEST_F(Training, TranslationAddsTheEndAndGivesTheTextBack) {
  const Tokenizer tokenizer =
      trained({.preset = TrainerOptions::Preset::translation, .vocabulary_size = 420});
  EXPECT_EQ(tokenizer.token_to_id("</s>"), 0);
  EXPECT_EQ(tokenizer.token_to_id("<unk>"), 1);
  EXPECT_EQ(tokenizer.token_to_id("<pad>"), 419);
  const std::string text = "Ein Schiff, 🙂 two ships\nand  more.";
  const Encoding encoding = tokenizer.encode(text);
  EXPECT_EQ(encoding.ids.back(), 0);
  EXPECT_EQ(tokenizer.decode(encoding.ids, true), text);
  const Encoding pair = tokenizer.encode_pair("a", "b");
  EXPECT_EQ(std::count(pair.ids.begin(), pair.ids.end(), 0), 1);
  EXPECT_EQ(pair.ids.back(), 0);
}

TEST_F(Training, CharactersIncludeTheNewline) {
  const Tokenizer tokenizer = trained({.model = TrainerOptions::Model::character});
  const std::string text = "The lamp\nwalks.\n";
  const Encoding encoding = tokenizer.encode(text);
  EXPECT_EQ(encoding.ids.size(), text.size());
  EXPECT_EQ(tokenizer.decode(encoding.ids), text);
}

TEST_F(Training, WordPieceCoversItsCorpus) {
  const Tokenizer tokenizer = trained({.model = TrainerOptions::Model::wordpiece,
                                       .preset = TrainerOptions::Preset::bert,
                                       .vocabulary_size = 500,
                                       .lowercase = true});
  const Encoding encoding = tokenizer.encode("The LAMP in the hall");
  EXPECT_EQ(encoding.tokens.front(), "[CLS]");
  EXPECT_EQ(encoding.tokens.back(), "[SEP]");
  EXPECT_EQ(tokenizer.decode(encoding.ids, true), "the lamp in the hall");
}

TEST_F(Training, LowercasesWhereAsked) {
  const Tokenizer tokenizer = trained({.vocabulary_size = 400, .lowercase = true});
  EXPECT_EQ(tokenizer.encode("ÜBER").ids, tokenizer.encode("über").ids);
}

TEST_F(Training, CustomTemplates) {
  const Tokenizer tokenizer = trained({.vocabulary_size = 300,
                                       .special_tokens = {"<a>", "<b>"},
                                       .single_template = "<a> $A <b>",
                                       .pair_template = "<a> $A <b>:1 $B:1"});
  EXPECT_EQ(tokenizer.encode("").ids, (std::vector<TokenId>{0, 1}));
  const Encoding pair = tokenizer.encode_pair("x", "y");
  EXPECT_EQ(pair.type_ids, (std::vector<std::int32_t>{0, 0, 1, 1}));
}

TEST_F(Training, ReportsErrors) {
  const auto message = [&](const TrainerOptions& options, const std::vector<std::filesystem::path>& files) {
    try {
      train_tokenizer(options, files);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto file = [&](const char* name, std::string_view text) {
    write_file_atomically(directory / name, text);
    return directory / name;
  };
  EXPECT_NE(message({}, {directory / "missing"}).find("missing"), std::string::npos);
  EXPECT_NE(message({}, {file("empty", "")}).find("no text"), std::string::npos);
  EXPECT_NE(message({}, {file("bytes",
                              "good\nb\xFF"
                              "d\n")})
                .find("line 2: invalid UTF-8 at byte 1"),
            std::string::npos);
  EXPECT_NE(message({.vocabulary_size = 100}, {data / "corpus.txt"}).find("100"), std::string::npos);
  EXPECT_NE(message({.single_template = "$A <x>"}, {data / "corpus.txt"}).find("<x>"), std::string::npos);
  EXPECT_NE(message({.model = TrainerOptions::Model::wordpiece}, {data / "corpus.txt"}).find("[UNK]"),
            std::string::npos);
  const auto unigram = TrainerOptions::Model::unigram;
  EXPECT_NE(
      message({.model = unigram, .vocabulary_size = 20}, {data / "corpus.txt"}).find("vocabulary size is 20"),
      std::string::npos);
  EXPECT_NE(message({.model = unigram, .min_frequency = 2}, {data / "corpus.txt"}).find("frequency"),
            std::string::npos);
}

}  // namespace
}  // namespace attend::tokenizers
