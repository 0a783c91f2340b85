#include <attend/tokenizer.h>

#include "base/error.h"
#include "cli/options/bad_inputs.h"
#include "cli/options/text_lines.h"
#include "cli/options/verb.h"
#include "formats/json/json.h"

#include <charconv>

namespace attend::cli {
namespace {

std::vector<TokenId> read_ids(const std::string& line, bool json, const std::string& place) {
  std::vector<TokenId> ids;
  if (json) {
    const Fields read(parse_json(line, place), place);
    if (!read.json().contains("ids")) fail("{}: the field ids is missing", place);
    for (const std::int64_t id : read.integers({"ids"})) {
      if (id < 0 || id > INT32_MAX) fail("{}: {} is not a token id", place, id);
      ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
  }
  for (std::size_t at = line.find_first_not_of(" \t,"); at != line.npos;
       at = line.find_first_not_of(" \t,", at)) {
    const std::size_t end = std::min(line.find_first_of(" \t,", at), line.size());
    TokenId id = -1;
    const auto [stop, error] = std::from_chars(line.data() + at, line.data() + end, id);
    if (error != std::errc() || stop != line.data() + end || id < 0)
      fail("{}: '{}' is not a token id", place, line.substr(at, end - at));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

}  // namespace

int detokenize(int argc, char** argv) {
  std::string model;
  std::vector<std::string> arguments;
  bool json = false, skip_special_tokens = false, source = false;
  Parser parser("detokenize",
                "Turns token ids into text.\nIds are arguments or lines of standard input, separated by "
                "spaces; with --json lines are objects with \"ids\".",
                "echo '15496 995' | attend detokenize MODEL");
  CLI::App& app = parser.app();
  app.add_option("model", model,
                 "A tokenizer.json, or a directory with one or with another kind of vocabulary")
      ->required();
  app.add_option("ids", arguments, "Token ids of one text");
  app.add_flag("--json", json, "{\"ids\"} in, {\"text\"} out");
  app.add_flag("--skip-special-tokens", skip_special_tokens, "Leave out special tokens");
  app.add_flag("--source", source,
               "Use the source tokenizer, if a model has two; default: the target tokenizer");
  if (const auto status = parser.parse(argc, argv)) return *status;

  const Tokenizer tokenizer = Tokenizer::from_file(model, source ? TextSide::source : TextSide::target);
  if (!arguments.empty()) {
    std::string all;
    for (const std::string& argument : arguments) all += argument + ' ';
    arguments = {all};
  }
  const bool json_in = json && arguments.empty();
  std::size_t count = 0, bad = 0;
  for_each_text(arguments, [&](const std::string& line, const std::string& place) {
    ++count;
    try {
      const std::vector<TokenId> ids = read_ids(line, json_in, place);
      for (const TokenId id : ids)
        if (!tokenizer.id_to_token(id))
          fail("{}: there is no token {}; the vocabulary has {}", place, id, tokenizer.vocabulary_size());
      const std::string text = tokenizer.decode(ids, skip_special_tokens);
      print_line(json ? Json{{"text", text}}.dump() : text);
    } catch (const Error& error) {
      if (!json) throw;
      ++bad;
      print_line(error_json(error.what()).dump());
    }
  });
  fail_for(bad, count);
  return 0;
}

}  // namespace attend::cli
