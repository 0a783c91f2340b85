#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "cli/text_lines.h"
#include "cli/verb.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "tokenizers/files/directory_facts.h"
#include "tokenizers/steps/encoding.h"

#include <atomic>
#include <chrono>
#include <filesystem>

namespace attend::cli {

using namespace tokenizers;
namespace {

struct TokenizeOptions {
  std::string model;
  std::vector<std::string> texts;
  bool json = false, pair = false, target = false, no_special_tokens = false;
  std::string truncation, padding;
  std::size_t max_length = 0, stride = 0;
  bool count = false;
};

// Flags override what tokenizer.json says; what no flag names stays.
void apply(const TokenizeOptions& options, Tokenizer& tokenizer, const CLI::App& app) {
  const bool padded_to_length = options.padding == "max_length";
  const bool has_length = app.count("--max-length") > 0;
  const std::filesystem::path model = options.model;
  const std::filesystem::path directory =
      std::filesystem::is_directory(model) || is_gguf(model) ? model : model.parent_path();
  // A length alone asks for truncation, unless it is there for the padding.
  if (!options.truncation.empty() || app.count("--stride") > 0 || (has_length && !padded_to_length)) {
    Truncation truncation =
        tokenizer.truncation().value_or(Truncation{.direction = truncation_side(directory)});
    if (has_length)
      truncation.max_length = options.max_length;
    else if (!tokenizer.truncation())
      fail("--truncation needs --max-length: the tokenizer does not say how long a text may be");
    if (app.count("--stride") > 0) truncation.stride = options.stride;
    if (options.truncation == "longest_first") truncation.strategy = Truncation::Strategy::longest_first;
    if (options.truncation == "only_first") truncation.strategy = Truncation::Strategy::only_first;
    if (options.truncation == "only_second") truncation.strategy = Truncation::Strategy::only_second;
    tokenizer.truncation() = truncation;
  }
  if (options.padding.empty()) return;
  Padding padding = tokenizer.padding() ? *tokenizer.padding() : default_padding(tokenizer, directory);
  padding.length.reset();
  if (padded_to_length) {
    if (has_length)
      padding.length = options.max_length;
    else if (tokenizer.truncation())
      padding.length = tokenizer.truncation()->max_length;
    else
      fail("--padding max_length needs --max-length: the tokenizer does not say how long a text may be");
  }
  tokenizer.padding() = padding;
}

Json to_json(const Encoding& encoding) {
  Json words = Json::array(), offsets = Json::array(), overflowing = Json::array();
  for (const std::int32_t word : encoding.word_ids) words.push_back(word < 0 ? Json() : Json(word));
  for (const TextSpan& span : encoding.offsets) offsets.push_back({span.begin, span.end});
  for (const Encoding& piece : encoding.overflowing) overflowing.push_back(to_json(piece));
  return {{"ids", encoding.ids},
          {"tokens", encoding.tokens},
          {"type_ids", encoding.type_ids},
          {"attention_mask", encoding.attention_mask},
          {"special_tokens_mask", encoding.special_tokens_mask},
          {"offsets", std::move(offsets)},
          {"word_ids", std::move(words)},
          {"overflowing", std::move(overflowing)}};
}

std::string error_line(const std::string& message) {
  return Json{{"error", message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Input {
  std::string text;
  std::optional<std::string> pair;
};

// One line of standard input as --json or --pair say.
Input read_input(const std::string& line, const TokenizeOptions& options, const std::string& place) {
  if (options.json && options.texts.empty()) {
    const Fields read(parse_json(line, place), place);
    Input input{read.text({"text"}), {}};
    if (read.has({"text_pair"})) input.pair = read.text({"text_pair"});
    return input;
  }
  if (!options.pair) return {line, {}};
  const std::size_t tab = line.find('\t');
  if (tab == line.npos) fail("{}: --pair expects two texts with a tab between them", place);
  return {line.substr(0, tab), line.substr(tab + 1)};
}

// Encodes the texts one by one; where the longest decides about the padding, prints when it is known.
void print_tokens(const TokenizeOptions& options, Tokenizer& tokenizer) {
  const EncodeOptions encode_options{.special_tokens = !options.no_special_tokens, .with_details = true};
  const auto print = [&](const Encoding& encoding) {
    if (options.json) {
      print_line(to_json(encoding).dump());
      return;
    }
    std::string line;
    for (const std::string& token : encoding.tokens) line += (line.empty() ? "" : " ") + token;
    print_line(line);
  };
  struct Result {
    Encoding encoding;
    std::string error;
  };
  std::vector<Result> batch;
  const bool collect = tokenizer.padding() && !tokenizer.padding()->length;
  std::optional<Padding> padding;
  if (collect) padding.swap(tokenizer.padding());
  std::size_t longest = 0;
  for_each_text(options.texts, [&](const std::string& line, const std::string& place) {
    Result result;
    try {
      const Input input = read_input(line, options, place);
      result.encoding = input.pair ? tokenizer.encode_pair(input.text, *input.pair, encode_options)
                                   : tokenizer.encode(input.text, encode_options);
    } catch (const Error& error) {
      if (!options.json) fail("{}: {}", place, error.what());
      result.error = error_line(error.what());
    }
    if (collect) {
      longest = std::max(longest, result.encoding.ids.size());
      batch.push_back(std::move(result));
    } else if (!result.error.empty()) {
      print_line(result.error);
    } else {
      print(result.encoding);
    }
  });
  if (!collect) return;
  for (Result& result : batch) {
    if (!result.error.empty()) {
      print_line(result.error);
      continue;
    }
    pad(result.encoding, padded_length(*padding, longest), *padding, true);
    print(result.encoding);
  }
}

void count_tokens(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  if (options.texts.size() != 1) fail("--count needs one file, {} are given", options.texts.size());
  const MappedFile file(options.texts[0]);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::size_t> tokens = 0;
  parallel_for(lines.size(), 1024, [&](std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum += tokenizer.encode(lines[i], {.special_tokens = false, .with_details = false}).ids.size();
    tokens += sum;
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  print_line(Json{{"tokens", tokens.load()}, {"seconds", seconds.count()}}.dump());
}

}  // namespace

int tokenize(int argc, char** argv) {
  TokenizeOptions options;
  Parser parser("tokenize",
                "Turns text into tokens.\nTexts are arguments or lines of standard input; with --json these "
                "are objects "
                "with \"text\" and, for a pair, \"text_pair\".",
                "echo 'A dog runs.' | attend tokenize MODEL --json");
  CLI::App& app = parser.app();
  app.add_option("model", options.model,
                 "A tokenizer.json, a directory with one or another kind of vocabulary, or a GGUF file")
      ->required();
  app.add_option("text", options.texts, "Texts");
  app.add_flag("--json", options.json, "One JSON object per text, with ids, offsets and all the rest");
  app.add_flag("--pair", options.pair, "A line holds two texts with a tab between them");
  app.add_flag("--target", options.target, "As target text, where a model has two tokenizers");
  app.add_flag("--no-special-tokens", options.no_special_tokens, "Only the tokens of the text itself");
  app.add_option("--truncation", options.truncation, "Which of two texts is cut")
      ->check(CLI::IsMember({"longest_first", "only_first", "only_second"}));
  app.add_option("--max-length", options.max_length, "At most that many tokens")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--stride", options.stride, "Tokens that the pieces of a cut text share")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--padding", options.padding, "Padding: to the longest text, or to --max-length")
      ->check(CLI::IsMember({"longest", "max_length"}));
  app.add_flag("--count", options.count,
               "Only count the tokens of a file's lines (in place of a text), and time it");
  if (const auto status = parser.parse(argc, argv)) return *status;

  Tokenizer tokenizer =
      Tokenizer::from_file(options.model, options.target ? TextSide::target : TextSide::source);
  apply(options, tokenizer, app);
  if (options.count)
    count_tokens(options, tokenizer);
  else
    print_tokens(options, tokenizer);
  return 0;
}

}  // namespace attend::cli
