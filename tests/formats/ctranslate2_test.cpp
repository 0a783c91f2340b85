// CTranslate2's model.bin and its directory, compared with the output of tests/oracle/check_ctranslate2.py,
// which uses the Python package ctranslate2; and all errors in a file.
#include "sources/ctranslate2/ctranslate2.h"

#include "base/file.h"
#include "expect_error.h"
#include "formats/tensors/safetensors.h"
#include "sources/ctranslate2/ctranslate2_model.h"
#include "sources/inspection.h"
#include "sources/model_directory.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <cstring>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

const fs::path data = test_data() / "ctranslate2";
constexpr const char* families[] = {"marian", "m2m-100", "bart", "t5-gated", "gpt2", "bert"};

CTranslate2 parse(const std::string& bytes) {
  return {std::as_bytes(std::span(bytes)), "file"};
}

// Builds a file.
struct Writer {
  std::string bytes;

  template <class Number>
  Writer& number(Number value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<std::uint16_t>(value.size() + 1));
    bytes.append(value).push_back('\0');
    return *this;
  }
  Writer& begin(std::uint32_t variables, std::string_view spec = "TransformerSpec",
                std::uint32_t revision = 7) {
    bytes.clear();
    return number(std::uint32_t{6}).text(spec).number(revision).number(variables);
  }
  Writer& variable(std::string_view name, const std::vector<std::uint32_t>& sizes, std::uint8_t type,
                   std::size_t size) {
    text(name).number(static_cast<std::uint8_t>(sizes.size()));
    for (const std::uint32_t each : sizes) number(each);
    number(type).number(static_cast<std::uint32_t>(size));
    bytes.resize(bytes.size() + size);
    return *this;
  }
  Writer& aliases(const std::vector<std::pair<std::string, std::string>>& all) {
    number(static_cast<std::uint32_t>(all.size()));
    for (const auto& [alias, of] : all) text(alias).text(of);
    return *this;
  }
};

// Checks the variables of the golden files, and that aliases refer to their targets.
TEST(CTranslate2, HasVariablesAndAliases) {
  const MappedFile mapping(data / "marian" / "model.bin");
  const CTranslate2 file(mapping.bytes(), "model.bin");
  EXPECT_EQ(file.spec(), "TransformerSpec");
  EXPECT_EQ(file.revision(), 7U);
  EXPECT_EQ(file.number("decoder/num_heads"), 2);
  EXPECT_EQ(file.number("decoder/alignment_layer"), -1);
  EXPECT_EQ(file.number("decoder/scale_embeddings"), 4);
  EXPECT_EQ(file.number("decoder/nothing"), std::nullopt);
  EXPECT_TRUE(file.are_one("encoder/embeddings_0/weight", "decoder/embeddings/weight"));
  EXPECT_TRUE(file.are_one("encoder/embeddings_0/weight_scale", "decoder/embeddings/weight_scale"));
  EXPECT_FALSE(file.are_one("encoder/layer_0/ffn/linear_0/weight", "decoder/layer_0/ffn/linear_0/weight"));
  EXPECT_EQ(file.get("decoder/embeddings/weight", 2).type, DType::i8);
  EXPECT_TRUE(contains(error_of([&] { file.get("decoder/embeddings/weight", 1); }),
                       "expected 1 dimensions, found 2"));
  EXPECT_TRUE(contains(error_of([&] { file.number("decoder/embeddings/weight"); }), "expected 0 dimensions"));
}

// The end of the file is found while reading, or a count is larger than the rest of the file.
bool says_cut_off(const std::string& error) {
  return contains(error, ": cut off: ") || contains(error, "in this file, found");
}

TEST(CTranslate2, RefusesAFileThatIsCutOffAnywhere) {
  const std::string whole = read_file(data / "marian" / "model.bin");
  EXPECT_NO_THROW(parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of that size, so that sanitizers detect reads beyond its end.
    const std::vector<std::byte> cut(reinterpret_cast<const std::byte*>(whole.data()),
                                     reinterpret_cast<const std::byte*>(whole.data()) + size);
    const std::string error = error_of([&] { CTranslate2(cut, "file"); });
    EXPECT_TRUE(says_cut_off(error)) << size << ": " << error;
  }
}

// The same for the whole directory: cut at every byte before the first numbers, and at some after them.
TEST(CTranslate2, RefusesADirectoryWhoseFileIsCutOff) {
  const TemporaryDirectory copy;
  for (const char* name : {"config.json", "shared_vocabulary.json"})
    copy.file(name, read_file(data / "marian" / name));
  const std::string whole = read_file(data / "marian" / "model.bin");
  for (std::size_t size = 0; size < whole.size(); size += size < 600 ? 1 : 997) {
    copy.file("model.bin", whole.substr(0, size));
    for (const std::string& error : {error_of([&] { ModelDirectory{copy.path()}; }),
                                     error_of([&] { open_source(copy.path())->weight_files(); })})
      EXPECT_TRUE(says_cut_off(error)) << size << ": " << error;
  }
}

// Changes any byte: the result is an Error, or a model whose numbers can be read.
TEST(CTranslate2, SurvivesChangedBytes) {
  const TemporaryDirectory copy;
  for (const char* name : {"config.json", "shared_vocabulary.json"})
    copy.file(name, read_file(data / "marian" / name));
  const std::string whole = read_file(data / "marian" / "model.bin");
  std::size_t loaded = 0;
  for (std::size_t at = 0; at < whole.size(); at += at < 300 ? 1 : 61) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (at % 2 == 0 ? 0xFF : 0x01));
    copy.file("model.bin", changed);
    try {
      const ModelDirectory directory{copy.path()};
      inspect_model(directory, directory.weight_files(), /*check_values=*/true);
      ++loaded;
    } catch (const Error& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
  EXPECT_GT(loaded, 0U);
}

TEST(CTranslate2, NamesWhatIsWrong) {
  const auto expect = [](const Writer& writer, std::string_view part) {
    const std::string error = error_of([&] { parse(writer.bytes); });
    EXPECT_TRUE(contains(error, part));
    EXPECT_EQ(error.find('\n'), error.npos);
  };
  expect({""}, "expected 4 bytes of the binary version, found 0");
  expect(Writer().number(std::uint32_t{5}), "with binary version 6, found 5");
  expect(Writer().number(std::uint32_t{6}).number(std::uint16_t{0}), "with a single zero, at its end");
  expect(Writer().number(std::uint32_t{6}).number(std::uint16_t{2}).number('a').number('b'),
         "with a single zero, at its end");
  expect(Writer().number(std::uint32_t{6}).number(std::uint16_t{9}).number('a'),
         "expected 9 bytes of the spec");
  expect(Writer().number(std::uint32_t{6}).text("\xFF"), "not valid UTF-8");
  expect(Writer().begin(~std::uint32_t{0}), "the number of variables, at most 0 in this file");
  expect(Writer().begin(1).variable("a", {1, 1, 1, 1, 1}, 0, 4), "expected at most 4 dimensions, found 5");
  expect(Writer().begin(1).variable("a", {4, 0}, 0, 0), "dimension 1: expected a positive number");
  expect(Writer().begin(1).variable("a", {1U << 31, 1U << 31, 1U << 31, 1U << 31}, 1, 8), "cut off");
  expect(Writer().begin(1).variable("a", {4}, 6, 16), "the number of a type, 0 to 5, found 6");
  expect(Writer().begin(1).variable("a", {4}, 0, 12), "expected 16 bytes for 4 numbers of F32, found 12");
  expect(Writer().begin(2).variable("a", {}, 1, 1).variable("a", {}, 1, 1), "variable \"a\" occurs twice");
  expect(Writer().begin(1).variable("a", {}, 1, 1), "cut off: expected 4 bytes of aliases");
  const auto one = [] { return Writer().begin(1).variable("a", {}, 1, 1); };
  expect(one().number(~std::uint32_t{0}), "the number of aliases, at most 0 in this file");
  expect(one().aliases({{"b", "c"}, {"c", "b"}}), "alias \"b\": expected the name of a variable");
  expect(one().aliases({{"b", "b"}}), "alias \"b\": expected the name of a variable");
  expect(Writer().begin(2).variable("a", {}, 1, 1).variable("b", {}, 1, 1).aliases({{"a", "b"}}),
         "with this name exists already");
  expect(one().aliases({}).number('x'),
         "expected the end of the file after 1 variables and 0 aliases, found 1");
  EXPECT_TRUE(parse(one().aliases({{"b", "a"}, {"c", "b"}}).bytes).are_one("a", "c"));
}

TEST(CTranslate2, ReadsAsAHuggingFaceDirectory) {
  for (const char* family : families) {
    const ModelDirectory directory(data / family);
    const WeightFiles checkpoint = directory.weight_files();
    EXPECT_GT(checkpoint.tensors().size(), 10U) << family;
    EXPECT_TRUE(is_ctranslate2(data / family));
  }
  const ModelDirectory marian(data / "marian");
  EXPECT_EQ(marian.model_type(), "marian");
  const Fields& config = marian.config();
  EXPECT_EQ(config.integer({"pad_token_id"}), config.integer({"vocab_size"}) - 1);
  EXPECT_EQ(config.integer({"decoder_start_token_id"}), config.integer({"pad_token_id"}));
  EXPECT_TRUE(config.flag({"scale_embedding"}));
  EXPECT_TRUE(config.flag({"tie_word_embeddings"}));
  EXPECT_EQ(marian.generation_config().at("eos_token_id"), 0);
  const WeightFiles checkpoint = marian.weight_files();
  // Queries, keys and values are one matrix there.
  const TensorView* key = checkpoint.find("model.encoder.layers.0.self_attn.k_proj.weight");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->shape, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(key->stored_as(), "CTranslate2 I8");
  EXPECT_EQ(ModelDirectory(data / "t5-gated").config().text({"feed_forward_proj"}), "gated-gelu");
  EXPECT_EQ(ModelDirectory(data / "gpt2").weight_files().find("transformer.h.0.mlp.c_fc.weight")->shape,
            (std::vector<std::int64_t>{16, 51}));
}

// Integers are divided by their scale, as in CTranslate2; padding has a row of zeros.
TEST(CTranslate2, DecodesByTheRuleOfTheFormat) {
  const MappedFile mapping(data / "marian" / "model.bin");
  const CTranslate2 file(mapping.bytes(), "model.bin");
  const CTranslate2Variable &integers = file.get("decoder/embeddings/weight", 2),
                            &scales = file.get("decoder/embeddings/weight_scale", 1);
  const WeightFiles checkpoint = ModelDirectory(data / "marian").weight_files();
  const TensorView& table = *checkpoint.find("model.shared.weight");
  const auto rows = static_cast<std::size_t>(integers.shape[0]),
             columns = static_cast<std::size_t>(integers.shape[1]);
  ASSERT_EQ(table.shape[0], integers.shape[0] + 1);
  std::vector<float> numbers(table.count(), 1);
  table.code->decode(numbers);
  for (std::size_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(numbers[i], integers.at(i) * (1 / scales.at(i / columns))) << i;
  for (std::size_t i = rows * columns; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], 0) << i;
}

TEST(CTranslate2, YieldsToAHuggingFaceCheckpoint) {
  const TemporaryDirectory both;
  both.file("model.bin", "");
  EXPECT_TRUE(is_ctranslate2(both.path()));
  both.file("model.safetensors", "");
  EXPECT_FALSE(is_ctranslate2(both.path()));
}

}  // namespace
}  // namespace attend
