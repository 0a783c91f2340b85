// attend chat MODEL: a conversation in the terminal.
#include <attend/tasks.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/options/chat_input.h"
#include "cli/options/flag_names.h"
#include "cli/options/generation_options.h"
#include "cli/options/model_option.h"
#include "cli/options/text_lines.h"
#include "cli/options/tool_command.h"
#include "cli/options/verb.h"

#include <csignal>
#include <cstdio>
#include <iostream>
#include <random>

#include <unistd.h>

namespace attend::cli {
namespace {

constexpr const char* kHelp =
    "/help          this list\n"
    "/undo          take back the last question and its answer\n"
    "/retry         answer the last question again\n"
    "/reset         begin again, with the same system message\n"
    "/system TEXT   change the system message; without TEXT, remove it\n"
    "/prompt TEXT   show what the model would read if you said TEXT\n"
    "/tokens        how much of the context is used\n"
    "/tools         the tools that the model may call\n"
    "/save FILE     write the conversation as JSON\n"
    "/load FILE     continue a conversation that was saved\n"
    "/quit          end, as Ctrl-D does\n"
    "Ctrl-C stops an answer. To begin a question with a slash, write two. A line that ends with a backslash\n"
    "is continued on the next one; a text between \"\"\" and \"\"\" may have any number of lines.\n";

// A model that calls tools and never answers.
constexpr int kMaxRounds = 16;

std::vector<ChatMessage> read_messages(const std::string& file) {
  const Json json = read_json(file);
  if (!json.is_array()) fail("{}: expected a list of messages, found {}", file, shown(json));
  std::vector<ChatMessage> messages;
  for (const Json& each : json) {
    const Fields message(each, fmt::format("{}: message {}", file, messages.size() + 1));
    const auto content = each.find("content");
    const bool is_text = content != each.end() && content->is_string();
    // A message with more than a text is passed to the template unchanged.
    messages.push_back({message.text({"role"}), is_text ? content->get<std::string>() : "",
                        is_text && each.size() == 2 ? "" : each.dump()});
  }
  return messages;
}

class Chat {
 public:
  // `tools`: the tools that the model may call. `tool_command` answers its calls; empty: the user does.
  Chat(const ModelPath& model, ConversationOptions options, Json tools, std::string tool_command)
      : conversation_(model, with_reasoning(std::move(options))),
        tools_(std::move(tools)),
        tool_command_(std::move(tool_command)) {}

  void load(const std::string& file) {
    naming_file(file, [&] { conversation_.set_messages(read_messages(file)); });
    results_.clear();
  }

  // Returns the exit status: 1 if a command failed and input is not interactive.
  int run() {
    if (input_.is_typed()) write_now("/help lists the commands, Ctrl-D ends.\n");
    bool failed = false;
    while (const std::optional<std::string> entry = input_.next(prompt())) {
      try {
        if (!say(*entry)) break;
      } catch (const Error& error) {
        std::fprintf(stderr, "attend: error: %s\n", with_flags(error.what()).c_str());
        failed = true;
      }
    }
    return failed && !input_.is_typed() ? 1 : 0;
  }

 private:
  // Reasoning is shown in a terminal, where its colour separates it from the answer.
  ConversationOptions with_reasoning(ConversationOptions options) {
    if (colours_)
      options.on_reasoning = [this](const std::string& more) {
        write_now((std::exchange(reasons_, true) ? "" : "\033[2m") + more);
      };
    return options;
  }

  // The prompt of the next entry: a question, or the result of a call.
  std::string prompt() const {
    return results_.size() < conversation_.calls().size() ? conversation_.calls()[results_.size()].name + "> "
                                                          : "> ";
  }

  // Returns false at the end of the input.
  bool say(const std::string& entry) {
    if (const auto at = find_invalid_utf8(entry)) fail("the line is not valid UTF-8 at byte {}", *at);
    if (entry.starts_with("/") && !entry.starts_with("//")) return obey(entry);
    const std::string text = entry.starts_with("//") ? entry.substr(1) : entry;
    if (!conversation_.calls().empty())
      take_result(text);
    else if (text.find_first_not_of(" \t\n") != text.npos)
      ask(text);
    return true;
  }

  bool obey(const std::string& line) {
    const std::size_t space = line.find_first_of(" \n");
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
      results_.clear();
    } else if (command == "system") {
      conversation_.set_system(rest);
    } else if (command == "prompt") {
      write_now(conversation_.prompt(rest) + "\n");
    } else if (command == "tokens") {
      show_tokens();
    } else if (command == "tools") {
      show_tools();
    } else if (command == "save") {
      save(rest);
    } else if (command == "load") {
      if (rest.empty()) fail("expected /load FILE");
      load(rest);
      inform("read {} messages", conversation_.messages().size());
    } else {
      fail("there is no command /{}; /help lists them", command);
    }
    return true;
  }

  // Returns the question that is removed.
  std::string take_back() {
    std::string question;
    for (const ChatMessage& message : conversation_.messages())
      if (message.role == "user") question = message.content;
    if (!conversation_.take_back()) fail("there is no question yet");
    results_.clear();
    return question;
  }

  void ask(const std::string& question) {
    show([&](const Conversation::OnAnswer& on_text) { conversation_.answer(question, on_text); });
  }

  void take_result(const std::string& result) {
    results_.push_back(result);
    if (results_.size() < conversation_.calls().size()) return;
    const std::vector<std::string> results = std::exchange(results_, {});
    show([&](const Conversation::OnAnswer& on_text) { conversation_.answer_with_results(results, on_text); });
  }

  // Shows an answer as it is generated, and its calls. With a tool command the next answers follow.
  template <class Work>
  void show(const Work& answer) {
    show_one(answer);
    for (int round = 0; !tool_command_.empty() && !conversation_.calls().empty(); ++round) {
      if (round == kMaxRounds) fail("the model has called tools {} times and does not answer", kMaxRounds);
      std::vector<std::string> results;
      for (const ToolCall& call : conversation_.calls()) {
        results.push_back(run_tool_command(tool_command_, call));
        write_now(call.name + "> " + results.back() + "\n");
      }
      if (take_interrupt()) return;
      show_one([&](const Conversation::OnAnswer& on_text) {
        conversation_.answer_with_results(results, on_text);
      });
    }
  }

  template <class Work>
  void show_one(const Work& answer) {
    bool any = false;
    reasons_ = false;
    const auto end_reasoning = [&] {
      if (std::exchange(reasons_, false)) write_now("\033[0m\n\n");
    };
    try {
      answer([&](const std::string& more) {
        if (!more.empty()) {
          end_reasoning();
          any = true;
          write_now(more);
        }
        return !take_interrupt();
      });
    } catch (...) {
      end_reasoning();
      throw;
    }
    end_reasoning();
    if (any || conversation_.calls().empty()) write_now("\n");
    for (const ToolCall& call : conversation_.calls()) write_now(call.name + " " + call.arguments + "\n");
    if (!input_.is_typed()) return;
    const AnswerFigures& figures = conversation_.figures();
    if (isatty(STDERR_FILENO) != 0)
      std::fprintf(stderr, "(%zu tokens, %.1f a second; %zu of %zu of the context)\n", figures.new_tokens,
                   speed(figures), used(figures), figures.max_tokens);
    write_now("\n");
  }

  static double speed(const AnswerFigures& figures) {
    const double seconds = figures.seconds - figures.seconds_to_first;
    return figures.new_tokens > 1 && seconds > 0 ? static_cast<double>(figures.new_tokens - 1) / seconds : 0;
  }
  static std::size_t used(const AnswerFigures& figures) { return figures.prompt_tokens + figures.new_tokens; }

  void show_tokens() const {
    const AnswerFigures& figures = conversation_.figures();
    if (figures.max_tokens == 0) fail("there is no answer yet");
    write_now(fmt::format("{} of {} tokens of the context ({}%) up to the last answer; {} were read for it\n",
                          used(figures), figures.max_tokens, 100 * used(figures) / figures.max_tokens,
                          figures.tokens_read));
  }

  void show_tools() const {
    if (tools_.empty()) fail("there are no tools: --tools FILE");
    for (const Json& tool : tools_) {
      const Json& function = tool.contains("function") ? tool.at("function") : tool;
      write_now(fmt::format("{}: {}\n", function.value("name", ""), function.value("description", "")));
    }
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

  const bool colours_ = isatty(STDOUT_FILENO) != 0;
  bool reasons_ = false;  // reasoning is being shown
  ChatInput input_;
  Conversation conversation_;
  Json tools_;
  std::string tool_command_;
  std::vector<std::string> results_;  // of the first pending calls
};

}  // namespace

int chat(int argc, char** argv) {
  ModelPath model;
  std::string config_file, messages, tools, tool_command, variables = "{}";
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
  parser.app().add_option(
      "--tools", tools,
      "A JSON file with a list of tools in the format of OpenAI's API. The model may call "
      "them; the next line is the result of a call");
  parser.app().add_option("--tool-command", tool_command,
                          "A command that answers calls of tools: its argument is the tool's name, its "
                          "standard input the call's arguments as JSON, and its output the result");
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
  options.configure = with_fields(settings.dump());
  Json known = Fields(parse_json(variables, "--template-variables"), "--template-variables").json();
  if (!tools.empty()) {
    known["tools"] = read_json(tools);
    if (!known["tools"].is_array())
      fail("{}: expected a list of tools, found {}", tools, shown(known["tools"]));
  }
  options.chat_variables = known.dump();
  options.seed = seed ? *seed : std::random_device()();
  Chat chat(model, options, known.value("tools", Json::array()), tool_command);
  if (!messages.empty()) chat.load(messages);
  catch_interrupts({SIGINT});
  return chat.run();
}

}  // namespace attend::cli
