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

class Task {
 public:
  virtual ~Task() = default;
  virtual void add_options(CLI::App& app) = 0;
  // Error for options that do not go together; called before any input is read.
  virtual void load(const ModelPath& model) = 0;
  // Inputs as objects with fields, from texts that are arguments or lines. Most tasks take one for each.
  virtual std::vector<Json> from_texts(const std::vector<std::string>& texts) const;
  // Whether a line of standard input is an input; otherwise it is a JSON object.
  virtual bool reads_lines() const { return true; }
  // What the pipeline prints for each input, in order.
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

// Every task, by what it answers with: scores, parts of the text, numbers, new text.
std::span<const TaskVerb> label_tasks();
std::span<const TaskVerb> span_tasks();
std::span<const TaskVerb> vector_tasks();
std::span<const TaskVerb> generation_tasks();

// The text of an input. Error, naming the input, if it is missing or empty.
std::string text_of(const Fields& input);
std::vector<std::string> texts_of(const std::vector<Fields>& inputs);

}  // namespace attend::cli
