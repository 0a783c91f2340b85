#include "cli/serve_tasks.h"

#include "base/error.h"
#include "cli/picture_input.h"
#include "cli/run_task.h"

#include <algorithm>
#include <list>
#include <mutex>

namespace attend::cli {
namespace {

using serve::Asked;
using serve::Gathered;

// {"top_k": 3, "several": true} as options: --top-k=3 --several=true.
std::vector<std::string> as_options(const Json& parameters) {
  std::vector<std::string> options;
  for (const auto& [name, value] : parameters.items()) {
    std::string option = "--" + name;
    std::ranges::replace(option, '_', '-');
    if (value.is_null()) continue;
    if (value.is_array()) {
      std::string list;
      for (const Json& each : value)
        list += (list.empty() ? "" : ",") + (each.is_string() ? each.get<std::string>() : each.dump());
      options.push_back(option + "=" + list);
    } else {
      options.push_back(option + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  std::ranges::reverse(options);  // as CLI11 takes them
  return options;
}

// One task with one set of options.
class LoadedTask {
 public:
  LoadedTask(const TaskVerb& verb, const Asked& asked, const Json& parameters)
      : task_(verb.make(verb.name)),
        adapter_(asked.adapter),
        gathered_([this](const std::vector<Json>& inputs) { return run(inputs); }) {
    CLI::App app;
    app.set_help_flag();
    task_->add_options(app);
    try {
      app.parse(as_options(parameters));
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
    RunOptions options;
    options.adapter = adapter_;
    return task_->run(fields, options);
  }

  std::unique_ptr<Task> task_;
  std::optional<std::int64_t> adapter_;
  Gathered<Json, Json> gathered_;
};

// The last ones that were asked for stay.
class LoadedTasks {
 public:
  std::shared_ptr<LoadedTask> find(const TaskVerb& verb, const Asked& asked, const Json& parameters) {
    const std::string key = fmt::format("{} {} {}", verb.name, asked.name, parameters.dump());
    const std::lock_guard lock(mutex_);
    auto found = std::ranges::find(tasks_, key, &Entry::first);
    if (found == tasks_.end())
      tasks_.emplace_front(key, std::make_shared<LoadedTask>(verb, asked, parameters));
    else
      tasks_.splice(tasks_.begin(), tasks_, found);
    if (tasks_.size() > kMost) tasks_.pop_back();
    return tasks_.front().second;
  }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<LoadedTask>>;
  static constexpr std::size_t kMost = 16;

  std::mutex mutex_;
  std::list<Entry> tasks_;
};

// One input, or a list of them: texts or objects.
std::vector<Json> read_inputs(const Json& inputs, const Task& task) {
  std::vector<Json> all;
  const Json list = inputs.is_array() ? inputs : Json::array({inputs});
  for (const Json& input : list) {
    if (input.is_string())
      all.push_back(task.from_texts({input.get<std::string>()}).front());
    else if (input.is_object())
      all.push_back(input);
    else
      fail("inputs: expected a text, an object, or a list of these, found {}", shown(input));
  }
  if (all.empty()) fail("inputs: expected at least one, found none");
  return all;
}

serve::Reply run_task(const TaskVerb& verb, const serve::ServedModels& models, LoadedTasks& loaded,
                      const Fields& body) {
  for (const auto& [name, value] : body.json().items())
    if (name != "inputs" && name != "parameters" && name != "model")
      fail("there is no field {}: expected inputs, parameters and model", name);
  const Json parameters = body.json().value("parameters", Json::object()),
             inputs = body.json().value("inputs", Json());
  if (!parameters.is_object()) fail("parameters: expected an object, found {}", shown(parameters));
  const std::shared_ptr<LoadedTask> task = loaded.find(verb, models.find(body), parameters);
  std::vector<Json> all = read_inputs(inputs, task->task());
  if (std::string_view(verb.name) == "image-classification")
    for (Json& input : all) input = received_picture(Fields(input, "inputs"));
  std::vector<Json> answers = task->ask(std::move(all));
  return serve::reply(inputs.is_array() ? Json(std::move(answers)) : std::move(answers.front()));
}

}  // namespace

void add_task_routes(serve::Server& server, const serve::ServedModels& models) {
  const auto loaded = std::make_shared<LoadedTasks>();
  for (const auto group : {label_tasks, span_tasks, vector_tasks})
    for (const TaskVerb& verb : group())
      server.post(fmt::format("/v1/run/{}", verb.name), [&verb, &models, loaded](const Fields& body) {
        return run_task(verb, models, *loaded, body);
      });
}

}  // namespace attend::cli
