// attend run TASK MODEL [TEXT...]: Hugging Face's pipelines as a command.
#include "base/bad_inputs.h"
#include "base/progress.h"
#include "cli/options/bad_inputs.h"
#include "cli/options/model_option.h"
#include "cli/options/option_flags.h"
#include "cli/options/run_inputs.h"
#include "cli/options/shard.h"
#include "cli/options/text_lines.h"
#include "cli/options/verb.h"
#include "formats/json/json_floats.h"

#include <cstdio>
#include <map>

namespace attend::cli {
namespace {

void print_tasks(std::FILE* out) {
  std::fputs(
      "Runs a task on texts, as Hugging Face's pipelines do, and prints one line of JSON for each.\n\nattend "
      "run TASK MODEL [TEXT...] [options]\n\n",
      out);
  for (const PipelineKind* task : pipelines())
    std::fprintf(out, "  %-26s %s\n", std::string(task->name).c_str(), task->summary);
  std::fputs(
      "\n`attend run TASK --help` lists the options of a task.\n\nExample:\n  attend run fill-mask "
      "bert-base-uncased \"Paris is the [MASK] of France.\"\n",
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
                 RunOptions& options, BadInputs& bad) {
  add_model(app, model);
  add_cache(app, model);
  adapters.add(app);
  add_texts(app, "text", input.texts, "The texts; default: lines of standard input");
  add_option(app,
             option::choice(
                 "input_format", input.format,
                 {{"lines", InputFormat::lines},
                  {"json", InputFormat::json},
                  {"csv", InputFormat::csv},
                  {"tsv", InputFormat::tsv}},
                 "Format of standard input: lines; json (per line an object with fields, or a text); csv or "
                 "tsv (a table with field names in the first line)"));
  app.add_flag_callback(
      "--json-input", [&input] { input.format = InputFormat::json; }, "Same as --input-format json");
  app.add_option_function<std::vector<std::string>>(
         "--column", [&input](const std::vector<std::string>& all) { input.columns = read_columns(all); },
         "FIELD=COLUMN: the table column of a field; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--batch-tokens", options.batch_tokens, "Tokens per batch")->check(positive());
  add_option(app, truncate_parameter(options));
  bad.add_option(app);
}

// Inputs with their adapters: those of --adapter-of, unless an input has a field "adapter".
struct AdaptedInputs {
  std::vector<Fields> inputs;
  std::vector<std::optional<std::int64_t>> adapters;
  bool own = false;  // Some inputs name theirs: then a wrong one is an error of the input.
};

// The answers of inputs [begin, end), computed adapter by adapter.
std::vector<Json> run_by_adapter(Pipeline& task, const AdaptedInputs& all, std::size_t begin, std::size_t end,
                                 const RunOptions& options) {
  const ErrorScope scope(all.own ? ErrorKind::input : ErrorKind::call);
  std::map<std::optional<std::int64_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = begin; i < end; ++i) groups[all.adapters[i]].push_back(i);
  std::vector<Json> answers(end - begin);
  for (const auto& [adapter, numbers] : groups) {
    std::vector<Fields> theirs;
    for (const std::size_t i : numbers) theirs.push_back(all.inputs[i]);
    RunOptions with_it = options;
    with_it.adapter = adapter;
    std::vector<Json> some = task.run(theirs, with_it);
    for (std::size_t i = 0; i < numbers.size(); ++i) answers[numbers[i] - begin] = std::move(some[i]);
  }
  return answers;
}

// An answer for each input, and the errors of inputs without an answer.
std::vector<Json> answer(Pipeline& task, std::vector<RunInput>& inputs, std::size_t first,
                         const AdapterOf& adapters, const RunOptions& options) {
  AdaptedInputs good;
  std::vector<std::size_t> numbers;  // indices of the good inputs
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].fields) continue;
    good.inputs.push_back(*inputs[i].fields);
    good.adapters.push_back(inputs[i].adapter ? inputs[i].adapter : adapters[first + i]);
    good.own = good.own || inputs[i].adapter;
    numbers.push_back(i);
  }
  std::vector<Json> answers(inputs.size());
  work_around_bad(
      0, numbers.size(),
      [&](std::size_t begin, std::size_t end) {
        std::vector<Json> some = run_by_adapter(task, good, begin, end, options);
        for (std::size_t i = begin; i < end; ++i) answers[numbers[i]] = std::move(some[i - begin]);
      },
      [&](std::size_t i, const Error& error) {
        RunInput& input = inputs[numbers[i]];
        input.error = name_input(input.place, error.what());
      });
  return answers;
}

// Prints answers in the order of the inputs, as soon as they are available. A bad input gets an object with
// its error.
void run_all(Pipeline& task, InputReader& reader, const AdapterOf& adapters, RunOptions options,
             BadInputs& bad) {
  Progress progress("running", reader.total(), "inputs");
  std::size_t done = 0;
  for (std::vector<RunInput> inputs = reader.next(); !inputs.empty(); inputs = reader.next()) {
    options.on_progress = [&](std::size_t part, std::size_t whole) {
      progress.update(done + inputs.size() * part / whole);  // a long text has several parts
    };
    const std::vector<Json> answers = answer(task, inputs, done, adapters, options);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].error.empty()) bad.report(inputs[i].error);
      print_line(shortest_line(inputs[i].error.empty() ? answers[i] : error_json(inputs[i].error)));
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
  const PipelineKind* const kind = find_pipeline(name);
  if (kind == nullptr) {
    std::fprintf(stderr, "attend run: there is no task '%s'; `attend run --help` lists them\n", name.c_str());
    return 2;
  }
  ModelPath model;
  InputOptions input;
  AdapterOf adapters;
  RunOptions options;
  BadInputs bad;
  Shard shard;
  Parser parser("run " + name, kind->description, kind->example);
  add_options(parser.app(), model, input, adapters, options, bad);
  const std::unique_ptr<Pipeline> task = kind->make(name);
  add_options(parser.app(), task->parameters());
  shard.add_options(parser.app());
  if (const auto status = parser.parse(argc - 1, argv + 1)) return *status;
  if (shard.given() && (input.format == InputFormat::csv || input.format == InputFormat::tsv))
    fail("--shard: only the first part of a table has its header; expected --input-format lines or json");
  if (!shard.begin(!input.texts.empty())) return 0;

  task->load(model);
  InputReader reader(input, *task);
  if (reader.total() > 0) adapters.check(reader.total());
  run_all(*task, reader, adapters, options, bad);
  return shard.finish(bad.status());
}

}  // namespace attend::cli
