// A task of `attend run`: its options, what its inputs look like, and its answers as JSON.
#pragma once

#include <attend/tasks.h>

#include "formats/json.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace attend::cli {

// A field of an input, by the names that it may have, the usual one first.
struct InputField {
  std::vector<std::string_view> names;
  bool required = true;
  bool is_list = false;  // of texts; otherwise a text
};

class Task {
 public:
  virtual ~Task() = default;
  virtual void add_options(CLI::App& app) = 0;
  // Error for options that do not go together; called before any input is read.
  virtual void load(const ModelPath& model) = 0;
  // The fields of its inputs; for most tasks a text.
  virtual std::vector<InputField> fields() const;
  // Inputs as objects with fields, from texts that are arguments or lines. Most tasks take one for each.
  virtual std::vector<Json> from_texts(const std::vector<std::string>& texts) const;
  // Whether a line of standard input is an input; otherwise it is a JSON object.
  virtual bool reads_lines() const { return true; }
  // What the pipeline prints for each input, in order. An Error of kind input is about one of them.
  virtual std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) = 0;
};

template <class T>
std::unique_ptr<Task> make_task(const std::string&) {
  return std::make_unique<T>();
}

struct TaskVerb {
  const char* name;
  const char* summary;      // one line in `attend run --help`
  const char* description;  // in its own
  const char* example;
  std::unique_ptr<Task> (*make)(const std::string& name);
};

// All tasks, by the kind of their answers: scores, spans of the text, numbers, new text.
std::span<const TaskVerb> label_tasks();
std::span<const TaskVerb> span_tasks();
std::span<const TaskVerb> vector_tasks();
std::span<const TaskVerb> generation_tasks();

// --truncate.
void add_truncate(CLI::App& app, RunOptions& options);
// Throws Error with the input's name unless it has the task's fields and, except for `others`, no more.
void check_fields(const Fields& input, const Task& task, std::span<const std::string_view> others);

// The text of an input. Error, naming the input, if it is missing.
std::string text_of(const Fields& input);
std::vector<std::string> texts_of(const std::vector<Fields>& inputs);

}  // namespace attend::cli
