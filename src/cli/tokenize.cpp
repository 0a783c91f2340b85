#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text_lines.h"
#include "cli/options/bad_inputs.h"
#include "cli/options/text_lines.h"
#include "cli/options/verb.h"
#include "formats/json/json.h"
#include "sources/model_source.h"
#include "tasks/chat/chat_template.h"
#include "tokenizers/files/directory_facts.h"
#include "tokenizers/steps/encoding.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <utility>

namespace attend::cli {

using namespace tokenizers;
namespace {

struct TokenizeOptions {
  std::string model;
  std::vector<std::string> texts;
  bool json = false, pair = false, target = false, no_special_tokens = false;
  std::string truncation = "none", padding = "none";
  std::size_t max_length = 0, stride = 0;
  bool count = false, chat = false;
  std::string chat_template;
};

// The settings of the call, instead of those saved in tokenizer.json. The latter only reflect the tokenizer's
// last use, and AutoTokenizer ignores them.
class Wanted {
 public:
  Wanted(const TokenizeOptions& options, const CLI::App& app, const Tokenizer& tokenizer)
      : options_(options),
        tokenizer_(tokenizer),
        has_length_(app.count("--max-length") > 0),
        has_stride_(app.count("--stride") > 0) {
    const std::filesystem::path model = options.model;
    const bool is_model = std::filesystem::is_directory(model) || open_source(model)->is_one_file();
    directory_ = is_model ? model : model.parent_path();
  }

  std::optional<Truncation> truncation() const {
    // A length alone requests truncation, unless it is for the padding.
    const bool by_length = has_stride_ || (has_length_ && options_.padding != "max_length");
    const std::optional<Truncation>& saved = tokenizer_.truncation();
    if (options_.truncation == "none" && !by_length) return {};
    if (options_.truncation == "saved" && !by_length) return saved;
    Truncation result = saved.value_or(Truncation{.direction = truncation_side(directory_)});
    result.max_length = length("--truncation");
    if (has_stride_) result.stride = options_.stride;
    using Strategy = Truncation::Strategy;
    if (options_.truncation == "longest_first") result.strategy = Strategy::longest_first;
    if (options_.truncation == "only_first") result.strategy = Strategy::only_first;
    if (options_.truncation == "only_second") result.strategy = Strategy::only_second;
    return result;
  }

  std::optional<Padding> padding() const {
    const std::optional<Padding>& saved = tokenizer_.padding();
    if (options_.padding == "none") return {};
    if (options_.padding == "saved") return saved;
    Padding result = saved ? *saved : default_padding(tokenizer_, directory_);
    result.length.reset();
    if (options_.padding == "max_length") result.length = length("--padding max_length");
    return result;
  }

 private:
  std::size_t length(const char* option) const {
    if (has_length_) return options_.max_length;
    if (!tokenizer_.truncation())
      fail("{} needs --max-length, because the tokenizer has no maximum length", option);
    return tokenizer_.truncation()->max_length;
  }

  const TokenizeOptions& options_;
  const Tokenizer& tokenizer_;
  bool has_length_, has_stride_;
  std::filesystem::path directory_;
};

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
  return error_json(message).dump();
}

struct Input {
  std::string text;
  std::optional<std::string> pair;
};

// The text that the model's template makes from {"messages": [...], "tools": [...], ...}.
std::string read_conversation(const std::string& line, const ChatTemplate& chat_template,
                              const std::string& place) {
  Json variables = Fields(parse_json(line, place), place).json();
  const Json list = variables.value("messages", Json());
  if (!list.is_array()) fail("{}: messages: expected a list, found {}", place, shown(list));
  variables.erase("messages");
  std::vector<ChatMessage> messages;
  for (const Json& each : list)
    messages.push_back({Fields(each, place + ": messages").text({"role"}), {}, each.dump()});
  return chat_template.prompt(messages, variables);
}

// One line of standard input, according to --json or --pair. Errors begin with the place.
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

// Encodes the texts one by one; if the longest decides the padding, prints when it is known.
void print_tokens(const TokenizeOptions& options, Tokenizer& tokenizer) {
  // A template writes the special tokens itself.
  const EncodeOptions encode_options{.special_tokens = !options.no_special_tokens && !options.chat,
                                     .with_details = true};
  std::optional<ChatTemplate> chat_template;
  if (options.chat) chat_template.emplace(options.chat_template, options.model);
  const auto print = [&](const Encoding& encoding, const std::string& prompt) {
    if (options.json) {
      Json result = options.chat ? Json{{"text", prompt}} : Json::object();
      result.update(to_json(encoding));
      print_line(result.dump());
      return;
    }
    std::string line;
    for (const std::string& token : encoding.tokens) line += (line.empty() ? "" : " ") + token;
    print_line(line);
  };
  struct Result {
    Encoding encoding;
    std::string error;
    std::string prompt;  // written by a conversation's template
  };
  std::vector<Result> batch;
  const bool collect = tokenizer.padding() && !tokenizer.padding()->length;
  std::optional<Padding> padding;
  if (collect) padding.swap(tokenizer.padding());
  std::size_t longest = 0;
  std::size_t count = 0, bad = 0;
  for_each_text(options.texts, [&](const std::string& line, const std::string& place) {
    Result result;
    ++count;
    try {
      const Input input = chat_template ? Input{read_conversation(line, *chat_template, place), {}}
                                        : read_input(line, options, place);
      if (chat_template) result.prompt = input.text;
      result.encoding = naming_file(place, [&] {
        return input.pair ? tokenizer.encode_pair(input.text, *input.pair, encode_options)
                          : tokenizer.encode(input.text, encode_options);
      });
    } catch (const Error& error) {
      if (!options.json) throw;
      result.error = error_line(error.what());
      ++bad;
    }
    if (collect) {
      longest = std::max(longest, result.encoding.ids.size());
      batch.push_back(std::move(result));
    } else if (!result.error.empty()) {
      print_line(result.error);
    } else {
      print(result.encoding, result.prompt);
    }
  });
  for (Result& result : batch) {
    if (!result.error.empty()) {
      print_line(result.error);
      continue;
    }
    pad(result.encoding, padded_length(*padding, longest), *padding, Details::all);
    print(result.encoding, result.prompt);
  }
  fail_for(bad, count);
}

void count_tokens(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  if (options.texts.size() != 1) fail("--count needs one file, {} are given", options.texts.size());
  const TextFile file(options.texts[0]);
  LineReader reader(file.text(), options.texts[0]);
  std::vector<std::string_view> lines;
  while (const auto line = reader.next()) lines.push_back(*line);
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::size_t> tokens = 0;
  parallel_for(lines.size(), 1024, [&](std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) try {
        sum += tokenizer.encode(lines[i], {.special_tokens = false, .with_details = false}).ids.size();
      } catch (const Error& error) {
        fail("{}, line {}: {}", options.texts[0], i + 1, error.what());
      }
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
                "are objects with \"text\" and, for a pair, \"text_pair\".",
                "echo 'A dog runs.' | attend tokenize MODEL --json");
  CLI::App& app = parser.app();
  app.add_option("model", options.model,
                 "A tokenizer.json, a directory with one or with another kind of vocabulary, or a GGUF file")
      ->required();
  add_texts(app, "text", options.texts, "Texts");
  app.add_flag("--json", options.json, "Print one JSON object per text, with ids, offsets and more");
  app.add_flag("--pair", options.pair, "Each line has two texts, separated by a tab");
  app.add_flag("--target", options.target, "Use the target tokenizer, if a model has two");
  app.add_flag("--no-special-tokens", options.no_special_tokens, "Add no special tokens");
  app.add_option("--truncation", options.truncation,
                 "Which of two texts is truncated; saved: as in tokenizer.json. Default with --max-length: "
                 "the longest")
      ->check(CLI::IsMember({"none", "saved", "longest_first", "only_first", "only_second"}));
  app.add_option("--max-length", options.max_length, "Max number of tokens")->check(CLI::Range(0, 1 << 30));
  app.add_option("--stride", options.stride, "Tokens that the parts of a truncated text share")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--padding", options.padding,
                 "Padding: to the longest text, or to --max-length; saved: as in tokenizer.json")
      ->check(CLI::IsMember({"none", "saved", "longest", "max_length"}));
  app.add_flag("--count", options.count,
               "Only count the tokens of a file's lines (instead of a text), and measure the time");
  CLI::Option* chat = app.add_flag("--chat", options.chat,
                                   "Each line is a JSON object with \"messages\" and other variables of the "
                                   "model's chat template, such as \"tools\"; with --json, \"text\" is the "
                                   "rendered template")
                          ->excludes("--pair");
  app.add_option("--template", options.chat_template,
                 "With --chat: a Jinja template, or the name of one of the model's")
      ->needs(chat);
  if (const auto status = parser.parse(argc, argv)) return *status;

  Tokenizer tokenizer =
      Tokenizer::from_file(options.model, options.target ? TextSide::target : TextSide::source);
  const Wanted wanted(options, app, tokenizer);
  std::optional<Truncation> truncation = wanted.truncation();
  std::optional<Padding> padding = wanted.padding();
  tokenizer.truncation() = std::move(truncation);
  tokenizer.padding() = std::move(padding);
  if (options.count)
    count_tokens(options, tokenizer);
  else
    print_tokens(options, tokenizer);
  return 0;
}

}  // namespace attend::cli
