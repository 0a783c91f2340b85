#include "serve/routes/task_routes.h"

#include "base/bad_inputs.h"
#include "base/error.h"
#include "pipelines/pipeline.h"
#include "serve/models/gathered.h"

#include <algorithm>
#include <future>
#include <list>
#include <mutex>

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

// One pipeline with one set of parameters.
class LoadedTask {
 public:
  LoadedTask(const PipelineKind& kind, const ChosenModel& chosen, const Json& parameters)
      : task_(kind.make(std::string(kind.name))),
        gathered_([this](const std::vector<Json>& inputs) { return run(inputs); }) {
    Options all = task_->parameters();
    all.push_back(truncate_parameter(options_));
    set_options(all, parameters);
    options_.adapter = chosen.adapter;
    try {
      task_->load(chosen.model.model());
    } catch (const Error& error) {
      throw Error(error.what(), ErrorKind::call);  // the request names a model for other tasks
    }
  }

  std::vector<Json> ask(std::vector<Json> inputs) { return gathered_.ask(std::move(inputs)); }
  const Pipeline& task() const { return *task_; }

 private:
  std::vector<Json> run(const std::vector<Json>& inputs) {
    std::vector<Fields> fields;
    for (const Json& input : inputs) fields.emplace_back(input, "inputs");
    return task_->run(fields, options_);
  }

  std::unique_ptr<Pipeline> task_;
  RunOptions options_;
  Gathered<Json, Json> gathered_;
};

// Keeps the most recently used tasks. Loading one does not block requests for another.
class LoadedTasks {
 public:
  std::shared_ptr<LoadedTask> find(const PipelineKind& kind, const ChosenModel& chosen,
                                   const Json& parameters) {
    const std::string key =
        fmt::format("{} {} {} {}", kind.name, chosen.model.number(), chosen.name, parameters.dump());
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
      auto task = std::make_shared<LoadedTask>(kind, chosen, parameters);
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
std::vector<Json> read_inputs(const Json& inputs, const Pipeline& task) {
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
std::vector<Json> answer(LoadedTask& task, const std::vector<Json>& all, std::size_t begin, std::size_t end) {
  std::vector<Json> inputs(all.begin() + static_cast<std::ptrdiff_t>(begin),
                           all.begin() + static_cast<std::ptrdiff_t>(end));
  for (const Json& input : inputs) check_fields(Fields(input, "inputs"), task.task(), {});
  for (Json& input : inputs) input = task.task().received(Fields(input, "inputs"));
  return task.ask(std::move(inputs));
}

// In a list, a bad input has an error in the place of its answer, unless all are bad.
Reply run_task(const PipelineKind& kind, const ServedModels& models, LoadedTasks& loaded,
               const Fields& body) {
  const Json parameters = body.has({"parameters"}) ? body.json().at("parameters") : Json(Json::object()),
             inputs = body.json().at("inputs");
  const std::shared_ptr<LoadedTask> task = loaded.find(kind, models.find(body), parameters);
  const std::vector<Json> all = read_inputs(inputs, task->task());
  if (!inputs.is_array()) return reply(answer(*task, all, 0, 1).front());
  Json answers = Json::array();
  std::optional<Error> first;
  std::size_t bad = 0;
  work_around_bad(
      0, all.size(),
      [&](std::size_t begin, std::size_t end) {
        for (Json& each : answer(*task, all, begin, end)) answers.push_back(std::move(each));
      },
      [&](std::size_t i, const Error& error) {
        if (!first) first.emplace(fmt::format("input {}: {}", i + 1, error.what()), error.kind());
        answers.push_back({{"error", error.what()}});
        ++bad;
      });
  if (bad == all.size()) throw *first;
  return reply(answers);
}

// An object with these fields, each under one of its names. That a required field is there is said for
// programs in `allOf`; here the pipeline finds out, with a better message.
Json input_schema(const std::vector<InputField>& fields) {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  Json properties = Json::object(), all = Json::array();
  for (const InputField& field : fields) {
    const Json value = field.is_list ? any_of({text(), list(text(), 1)}) : text();
    std::vector<Json> one_of_them;
    for (const std::string_view name : field.names) {
      properties[std::string(name)] = or_null(value);
      one_of_them.push_back(open_object({{std::string(name), value}}, {std::string(name)}));
    }
    if (field.required) all.push_back(any_of(one_of_them));
  }
  Json schema = object(properties);
  if (!all.empty()) schema["allOf"] = all;
  return schema;
}

// The task's options, and its fields, as schemas.
Endpoint endpoint_of(const PipelineKind& kind, const ServedModels& models) {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  const std::unique_ptr<Pipeline> task = kind.make(std::string(kind.name));
  RunOptions options;
  Options all = task->parameters();
  all.push_back(truncate_parameter(options));
  const Json object = input_schema(task->fields());
  std::vector<Json> one = {object}, inputs = {object};
  if (task->reads_lines()) one.insert(one.begin(), text());
  if (task->reads_lines()) inputs.insert(inputs.begin(), text());
  inputs.push_back(list(one.size() == 1 ? object : any_of(one), 1));
  return {.path = fmt::format("/v1/run/{}", kind.name),
          .group = "tasks",
          .summary = kind.summary,
          .fields = {models.field(),
                     {"inputs", any_of(inputs),
                      task->reads_lines() ? "a text, an object with fields, or a list of these"
                                          : "an object with fields, or a list of these",
                      true, true},
                     {"parameters", schema_of(all), fmt::format("the options of attend run {}", kind.name)}}};
}

}  // namespace

void add_task_routes(Server& server, const ServedModels& models) {
  const auto loaded = std::make_shared<LoadedTasks>();
  for (const PipelineKind* kind : pipelines())
    if (!kind->generates)
      server.add(endpoint_of(*kind, models), [kind, &models, loaded](const Fields& body) {
        return run_task(*kind, models, *loaded, body);
      });
}

}  // namespace attend::serve
