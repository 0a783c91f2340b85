#include "cli/serve_tasks.h"

#include "base/bad_inputs.h"
#include "base/error.h"
#include "cli/option_schema.h"
#include "cli/picture_input.h"
#include "cli/run_task.h"

#include <algorithm>
#include <future>
#include <list>
#include <mutex>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

using serve::Asked;
using serve::Gathered;

// {"top_k": 3, "several": true} as options: --top-k=3 --several=true. Error, with the names of all, for one
// that the task does not have.
std::vector<std::string> as_options(const Json& parameters, const CLI::App& app) {
  std::vector<std::string> options;
  for (const auto& [name, value] : parameters.items()) {
    std::string option = "--" + name;
    std::ranges::replace(option, '_', '-');
    if (app.get_option_no_throw(option) == nullptr) {
      std::vector<std::string> known;
      for (const CLI::Option* each : app.get_options()) known.push_back(each->get_single_name());
      for (std::string& each : known) std::ranges::replace(each, '-', '_');
      fail("parameters: there is no {}: expected {}", shown(Json(name)), fmt::join(known, ", "));
    }
    if (value.is_null()) continue;
    options.push_back(option + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  std::ranges::reverse(options);  // as CLI11 takes them
  return options;
}

// One task with one set of options.
class LoadedTask {
 public:
  LoadedTask(const TaskVerb& verb, const Asked& asked, const Json& parameters)
      : task_(verb.make(verb.name)),
        gathered_([this](const std::vector<Json>& inputs) { return run(inputs); }) {
    CLI::App app;
    app.set_help_flag();
    task_->add_options(app);
    add_truncate(app, options_);
    options_.adapter = asked.adapter;
    try {
      app.parse(as_options(parameters, app));
    } catch (const CLI::Error& error) {
      fail("parameters: {}", error.what());
    }
    try {
      task_->load(asked.model.model());
    } catch (const Error& error) {
      throw Error(error.what(), ErrorKind::call);  // a model for other tasks was asked
    }
  }

  std::vector<Json> ask(std::vector<Json> inputs) { return gathered_.ask(std::move(inputs)); }
  const Task& task() const { return *task_; }

 private:
  std::vector<Json> run(const std::vector<Json>& inputs) {
    std::vector<Fields> fields;
    for (const Json& input : inputs) fields.emplace_back(input, "inputs");
    return task_->run(fields, options_);
  }

  std::unique_ptr<Task> task_;
  RunOptions options_;
  Gathered<Json, Json> gathered_;
};

// Keeps the most recently used tasks. Loading one does not block requests for another.
class LoadedTasks {
 public:
  std::shared_ptr<LoadedTask> find(const TaskVerb& verb, const Asked& asked, const Json& parameters) {
    const std::string key =
        fmt::format("{} {} {} {}", verb.name, asked.model.number(), asked.name, parameters.dump());
    std::promise<std::shared_ptr<LoadedTask>> promise;
    std::unique_lock lock(mutex_);
    if (const auto found = std::ranges::find(tasks_, key, &Entry::first); found != tasks_.end()) {
      tasks_.splice(tasks_.begin(), tasks_, found);
      const Loading loading = found->second;
      lock.unlock();
      return loading.get();
    }
    tasks_.emplace_front(key, promise.get_future().share());
    if (tasks_.size() > kMax) tasks_.pop_back();
    lock.unlock();
    try {
      auto task = std::make_shared<LoadedTask>(verb, asked, parameters);
      promise.set_value(task);
      return task;
    } catch (...) {
      promise.set_exception(std::current_exception());
      lock.lock();
      std::erase_if(tasks_, [&](const Entry& each) { return each.first == key; });
      throw;
    }
  }

 private:
  using Loading = std::shared_future<std::shared_ptr<LoadedTask>>;
  using Entry = std::pair<std::string, Loading>;
  static constexpr std::size_t kMax = 16;

  std::mutex mutex_;
  std::list<Entry> tasks_;
};

// One input, or a list of them: texts or objects.
std::vector<Json> read_inputs(const Json& inputs, const Task& task) {
  std::vector<Json> all;
  const Json list = inputs.is_array() ? inputs : Json::array({inputs});
  for (const Json& input : list) {
    if (input.is_string()) {
      if (!task.reads_lines())
        fail("inputs: an input of this task is more than a text: expected an object, found {}", shown(input));
      all.push_back(task.from_texts({input.get<std::string>()}).front());
    } else if (input.is_object()) {
      all.push_back(input);
    } else {
      fail("inputs: expected a text, an object, or a list of these, found {}", shown(input));
    }
  }
  if (all.empty()) fail("inputs: expected at least one, found none");
  return all;
}

// The answers to inputs [begin, end).
std::vector<Json> answer(const TaskVerb& verb, LoadedTask& task, const std::vector<Json>& all,
                         std::size_t begin, std::size_t end) {
  std::vector<Json> inputs(all.begin() + static_cast<std::ptrdiff_t>(begin),
                           all.begin() + static_cast<std::ptrdiff_t>(end));
  for (const Json& input : inputs) check_fields(Fields(input, "inputs"), task.task(), {});
  if (std::string_view(verb.name) == "image-classification")
    for (Json& input : inputs) input = received_picture(Fields(input, "inputs"));
  return task.ask(std::move(inputs));
}

// In a list, an input that is bad has an error in the place of its answer, unless all are bad.
serve::Reply run_task(const TaskVerb& verb, const serve::ServedModels& models, LoadedTasks& loaded,
                      const Fields& body) {
  const Json parameters = body.has({"parameters"}) ? body.json().at("parameters") : Json(Json::object()),
             inputs = body.json().at("inputs");
  const std::shared_ptr<LoadedTask> task = loaded.find(verb, models.find(body), parameters);
  const std::vector<Json> all = read_inputs(inputs, task->task());
  if (!inputs.is_array()) return serve::reply(answer(verb, *task, all, 0, 1).front());
  Json answers = Json::array();
  std::optional<Error> first;
  std::size_t bad = 0;
  work_around_bad(
      0, all.size(),
      [&](std::size_t begin, std::size_t end) {
        for (Json& each : answer(verb, *task, all, begin, end)) answers.push_back(std::move(each));
      },
      [&](std::size_t i, const Error& error) {
        if (!first) first.emplace(fmt::format("input {}: {}", i + 1, error.what()), error.kind());
        answers.push_back({{"error", error.what()}});
        ++bad;
      });
  if (bad == all.size()) throw *first;
  return serve::reply(answers);
}

// The task's options, and its fields, as schemas.
serve::Endpoint endpoint_of(const TaskVerb& verb, const serve::ServedModels& models) {
  using namespace serve::schema;  // NOLINT(google-build-using-namespace)
  const std::unique_ptr<Task> task = verb.make(verb.name);
  CLI::App app;
  app.set_help_flag();
  RunOptions options;
  task->add_options(app);
  add_truncate(app, options);
  Json parameters = Json::object(), fields = Json::object();
  for (const CLI::Option* option : app.get_options()) {
    std::string name = option->get_single_name();
    std::ranges::replace(name, '-', '_');
    parameters[name] = or_null(option_schema(*option));
    parameters[name]["description"] = option->get_description();
  }
  for (const InputField& field : task->fields())
    for (const std::string_view name : field.names)
      fields[std::string(name)] = or_null(field.is_list ? any_of({text(), list(text(), 1)}) : text());
  const Json one = any_of({text(), object(fields)});
  return {
      .path = fmt::format("/v1/run/{}", verb.name),
      .group = "tasks",
      .summary = verb.summary,
      .fields = {models.field(),
                 {"inputs", any_of({text(), object(fields), list(one, 1)}),
                  "a text, an object with fields, or a list of these", true, true},
                 {"parameters", object(parameters), "the options of attend run " + std::string(verb.name)}}};
}

}  // namespace

void add_task_routes(serve::Server& server, const serve::ServedModels& models) {
  const auto loaded = std::make_shared<LoadedTasks>();
  for (const auto group : {label_tasks, span_tasks, vector_tasks})
    for (const TaskVerb& verb : group())
      server.add(endpoint_of(verb, models), [&verb, &models, loaded](const Fields& body) {
        return run_task(verb, models, *loaded, body);
      });
}

}  // namespace attend::cli
