// attend chat MODEL: a conversation in the terminal.
#include <attend/tasks.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/text_lines.h"
#include "base/utf8.h"
#include "cli/generation_options.h"
#include "cli/model_option.h"
#include "cli/text_lines.h"
#include "cli/verb.h"

#include <csignal>
#include <cstdio>
#include <iostream>
#include <random>

#include <poll.h>
#include <unistd.h>

namespace attend::cli {
namespace {

constexpr const char* kHelp =
    "/help          this list\n"
    "/undo          take back the last question and its answer\n"
    "/retry         answer the last question anew\n"
    "/reset         begin again, with the same system prompt\n"
    "/prompt TEXT   show what the model would read if you said TEXT\n"
    "/save FILE     write the conversation as JSON, for --load\n"
    "/quit          end, as Ctrl-D does\n"
    "Ctrl-C stops an answer. To begin a question with a slash, write two.\n";

std::vector<ChatMessage> read_messages(const std::string& file) {
  const Json json = read_json(file);
  if (!json.is_array()) fail("{}: expected a list of messages, found {}", file, shown(json));
  std::vector<ChatMessage> messages;
  for (const Json& each : json) {
    const Fields message(each, fmt::format("{}: message {}", file, messages.size() + 1));
    const auto content = each.find("content");
    const bool is_text = content != each.end() && content->is_string();
    // What has more than a text is the template's to read.
    messages.push_back({message.text({"role"}), is_text ? content->get<std::string>() : "",
                        is_text && each.size() == 2 ? "" : each.dump()});
  }
  return messages;
}

class Chat {
 public:
  Chat(const ModelPath& model, const ConversationOptions& options) : conversation_(model, options) {}

  void load(const std::string& file) {
    naming_file(file, [&] { conversation_.set_messages(read_messages(file)); });
  }

  // Returns the exit status: 1 if a command failed and input is not interactive.
  int run() {
    if (typed_) write_now("/help lists the commands, Ctrl-D ends.\n");
    bool failed = false;
    while (const std::optional<std::string> line = read_line()) {
      try {
        if (!say(*line)) break;
      } catch (const Error& error) {
        std::fprintf(stderr, "attend: error: %s\n", error.what());
        failed = true;
      }
    }
    return failed && !typed_ ? 1 : 0;
  }

 private:
  // Nothing at the end. Where questions are typed, Ctrl-C leaves the line that was begun.
  std::optional<std::string> read_line() {
    if (typed_) {
      write_now("> ");
      for (pollfd input = {STDIN_FILENO, POLLIN, 0}; poll(&input, 1, 100) <= 0;)
        if (take_interrupt()) write_now("\n(Ctrl-D ends)\n> ");
    }
    std::optional<std::string> line = lines_.next();
    if (line)
      take_interrupt();  // one that came just before the line is not about its answer, nor the first of two
    else if (typed_)
      write_now("\n");
    return line;
  }

  // False: that was the end.
  bool say(const std::string& line) {
    if (const auto at = find_invalid_utf8(line)) fail("the line is not valid UTF-8 at byte {}", *at);
    if (line.starts_with("//"))
      ask(line.substr(1));
    else if (line.starts_with("/"))
      return obey(line);
    else if (line.find_first_not_of(" \t") != line.npos)
      ask(line);
    return true;
  }

  bool obey(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string command = line.substr(1, space - 1),
                      rest = space == line.npos ? "" : line.substr(space + 1);
    if (command == "quit") return false;
    if (command == "help") {
      write_now(kHelp);
    } else if (command == "undo") {
      take_back();
    } else if (command == "retry") {
      ask(take_back());
    } else if (command == "reset") {
      while (conversation_.take_back()) continue;
    } else if (command == "prompt") {
      write_now(conversation_.prompt(rest) + "\n");
    } else if (command == "save") {
      save(rest);
    } else {
      fail("there is no command /{}; /help lists them", command);
    }
    return true;
  }

  // The question that is no more.
  std::string take_back() {
    const std::vector<ChatMessage>& messages = conversation_.messages();
    const std::string question = messages.size() < 2 ? "" : messages[messages.size() - 2].content;
    if (!conversation_.take_back()) fail("there is no question yet");
    return question;
  }

  void ask(const std::string& question) {
    conversation_.answer(question, [](const std::string& more) {
      write_now(more);
      return !take_interrupt();
    });
    write_now(typed_ ? "\n\n" : "\n");
  }

  void save(const std::string& file) const {
    if (file.empty()) fail("expected /save FILE");
    Json list = Json::array();
    for (const ChatMessage& message : conversation_.messages())
      list.push_back(message.fields.empty() ? Json{{"role", message.role}, {"content", message.content}}
                                            : parse_json(message.fields, "a message"));
    write_file_atomically(file, list.dump(2) + "\n");
    inform("wrote {}", file);
  }

  Conversation conversation_;
  StreamLines lines_{std::cin, "standard input"};
  const bool typed_ = isatty(STDIN_FILENO) != 0;
};

}  // namespace

int chat(int argc, char** argv) {
  ModelPath model;
  std::string config_file, messages, tools, variables = "{}";
  Json fields = Json::object();
  ConversationOptions options;
  std::optional<std::uint64_t> seed;
  Parser parser(
      "chat",
      "Holds a conversation with a decoder. Each line, typed or from standard input, is a question; answers "
      "are printed as they are generated. Ctrl-C stops an answer, Ctrl-D ends; /help lists the commands.",
      "attend chat gpt2 --template 'User: {user}\\nBot: {bot}' --system 'A friendly talk.'");
  add_model(parser.app(), model);
  add_cache(parser.app(), model);
  CLI::Option* system = parser.app().add_option("--system", options.system, "The system message");
  parser.app().add_option(
      "--template", options.chat_template,
      "Format of a turn: text with {user} and {bot}, optionally {system} at the start, "
      "a Jinja template, or the name of one of the model's; default: the model's chat_template");
  parser.app().add_option("--template-variables", variables,
                          "A JSON object with other variables of the template, such as "
                          "{\"enable_thinking\": false}");
  parser.app().add_option("--tools", tools,
                          "A JSON file with a list of tools in the format of OpenAI's API, for the template");
  parser.app()
      .add_option("--load", messages, "A conversation to continue, as /save writes it")
      ->excludes(system);
  add_generation_options(parser.app(), fields);
  parser.app().add_option("--generation-config", config_file,
                          "A JSON file with fields of generation_config.json, for this run");
  parser.app().add_option("--seed", seed, "Random seed; the same seed and questions give the same answers");
  if (const auto status = parser.parse(argc, argv)) return *status;

  Json settings = config_file.empty() ? Json::object() : Fields(read_json(config_file), config_file).json();
  settings.update(fields);
  options.settings = settings.dump();
  Json known = Fields(parse_json(variables, "--template-variables"), "--template-variables").json();
  if (!tools.empty()) {
    known["tools"] = read_json(tools);
    if (!known["tools"].is_array())
      fail("{}: expected a list of tools, found {}", tools, shown(known["tools"]));
  }
  options.chat_variables = known.dump();
  options.seed = seed ? *seed : std::random_device()();
  Chat chat(model, options);
  if (!messages.empty()) chat.load(messages);
  catch_interrupts({SIGINT});
  return chat.run();
}

}  // namespace attend::cli
