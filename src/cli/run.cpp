// attend run TASK MODEL [TEXT...]: what Hugging Face's pipelines do, as a command.
#include "base/error.h"
#include "base/progress.h"
#include "cli/model_option.h"
#include "cli/run_inputs.h"
#include "cli/text_lines.h"
#include "cli/verb.h"

#include <array>
#include <cstdio>
#include <map>

namespace attend::cli {
namespace {

constexpr std::array kGroups = {label_tasks, span_tasks, vector_tasks, generation_tasks};

// The names by which pipelines know a task as well; a translation's may name its languages.
std::string usual_name(const std::string& name) {
  if (name == "sentiment-analysis") return "text-classification";
  if (name == "ner") return "token-classification";
  return name.starts_with("translation_") ? "translation" : name;
}

const TaskVerb* find_task(const std::string& name) {
  for (const auto group : kGroups)
    for (const TaskVerb& task : group())
      if (usual_name(name) == task.name) return &task;
  return nullptr;
}

void print_tasks(std::FILE* out) {
  std::fputs(
      "Runs a task on texts, as Hugging Face's pipelines do, and prints their JSON, a line for each.\n\n"
      "attend run TASK MODEL [TEXT...] [options]\n\n",
      out);
  for (const auto group : kGroups)
    for (const TaskVerb& task : group()) std::fprintf(out, "  %-26s %s\n", task.name, task.summary);
  std::fputs(
      "\n`attend run TASK --help` says what a task takes.\n\n"
      "Example:\n  attend run fill-mask bert-base-uncased \"Paris is the [MASK] of France.\"\n",
      out);
}

// "text=review" and so on, by field.
std::map<std::string, std::string> read_columns(const std::vector<std::string>& given) {
  std::map<std::string, std::string> columns;
  for (const std::string& each : given) {
    const std::size_t equals = each.find('=');
    if (equals == 0 || equals == each.npos || equals + 1 == each.size())
      throw CLI::ValidationError("--column",
                                 fmt::format("expected FIELD=COLUMN, such as text=review, found {}", each));
    columns[each.substr(0, equals)] = each.substr(equals + 1);
  }
  return columns;
}

void add_options(CLI::App& app, ModelPath& model, InputOptions& input, AdapterOf& adapters,
                 RunOptions& options) {
  add_model(app, model);
  add_cache(app, model);
  adapters.add(app);
  add_texts(app, "text", input.texts, "The texts; else lines of standard input");
  app.add_option(
         "--input-format", input.format,
         "Of standard input: lines; json, a line an object with fields, or a text; csv or tsv, a table whose "
         "first line names the fields")
      ->transform(CLI::CheckedTransformer(std::map<std::string, InputFormat>{{"lines", InputFormat::lines},
                                                                             {"json", InputFormat::json},
                                                                             {"csv", InputFormat::csv},
                                                                             {"tsv", InputFormat::tsv}}));
  app.add_flag_callback(
      "--json-input", [&input] { input.format = InputFormat::json; }, "The same as --input-format json");
  app.add_option_function<std::vector<std::string>>(
         "--column", [&input](const std::vector<std::string>& all) { input.columns = read_columns(all); },
         "FIELD=COLUMN: of a table, the column that holds a field; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--batch-tokens", options.batch_tokens, "Tokens to a batch")->check(CLI::PositiveNumber);
}

// The answers of inputs, those of one adapter together. An input's own field "adapter" overrules the option.
std::vector<Json> run_by_adapter(Task& task, const std::vector<Fields>& inputs, std::size_t first,
                                 const AdapterOf& adapters, const RunOptions& options) {
  std::map<std::optional<std::int64_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto own = inputs[i].maybe_integer({"adapter"}, -1);
    groups[own ? own : adapters[first + i]].push_back(i);
  }
  std::vector<Json> answers(inputs.size());
  for (const auto& [adapter, numbers] : groups) {
    std::vector<Fields> theirs;
    for (const std::size_t i : numbers) theirs.push_back(inputs[i]);
    RunOptions with_it = options;
    with_it.adapter = adapter;
    std::vector<Json> some = task.run(theirs, with_it);
    for (std::size_t i = 0; i < numbers.size(); ++i) answers[numbers[i]] = std::move(some[i]);
  }
  return answers;
}

// Answers in the order of the inputs, as soon as there are some.
void run_all(Task& task, InputReader& reader, const AdapterOf& adapters, RunOptions options) {
  Progress progress("running", reader.total(), "inputs");
  std::size_t done = 0;
  for (std::vector<Fields> inputs = reader.next(); !inputs.empty(); inputs = reader.next()) {
    options.on_progress = [&](std::size_t part, std::size_t whole) {
      progress.update(done + inputs.size() * part / whole);  // a long text is several parts
    };
    try {
      for (const Json& answer : run_by_adapter(task, inputs, done, adapters, options))
        print_line(answer.dump());
    } catch (const Error& error) {
      if (done == 0) throw;
      fail("among the inputs from number {} on: {}", done + 1, error.what());
    }
    std::fflush(stdout);
    done += inputs.size();
  }
}

}  // namespace

int run(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "--help" || name == "-h") {
    print_tasks(name.empty() ? stderr : stdout);
    return name.empty() ? 2 : 0;
  }
  const TaskVerb* verb = find_task(name);
  if (verb == nullptr) {
    std::fprintf(stderr, "attend run: there is no task '%s'; `attend run --help` lists them\n", name.c_str());
    return 2;
  }
  ModelPath model;
  InputOptions input;
  AdapterOf adapters;
  RunOptions options;
  Parser parser("run " + name, verb->description, verb->example);
  add_options(parser.app(), model, input, adapters, options);
  const std::unique_ptr<Task> task = verb->make(name);
  task->add_options(parser.app());
  if (const auto status = parser.parse(argc - 1, argv + 1)) return *status;

  task->load(model);
  InputReader reader(input, *task);
  if (reader.total() > 0) adapters.check(reader.total());
  run_all(*task, reader, adapters, options);
  return 0;
}

}  // namespace attend::cli
