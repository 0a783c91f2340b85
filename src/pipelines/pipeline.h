// A pipeline: a task with its parameters, what its inputs look like, and its answers as JSON, as Hugging
// Face's pipelines have them. The command line and the server run the same ones. To add one: a file in this
// folder, and a line in registry.cpp.
#pragma once

#include <attend/model_path.h>
#include <attend/tasks.h>

#include "formats/json/json.h"
#include "formats/options/option.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// A field of an input, by the names that it may have, the usual one first.
struct InputField {
  std::vector<std::string_view> names;
  bool required = true;
  bool is_list = false;  // of texts; otherwise a text
};

class Pipeline {
 public:
  virtual ~Pipeline() = default;
  // They set members of this object.
  virtual Options parameters() { return {}; }
  // After the parameters are set. An Error for parameters that exclude each other, and for a model that is
  // for other tasks.
  virtual void load(const ModelPath& model) = 0;
  // The fields of its inputs; for most pipelines a text.
  virtual std::vector<InputField> fields() const;
  // Inputs as objects with fields, from texts that are arguments or lines. Most pipelines take one for each.
  virtual std::vector<Json> from_texts(const std::vector<std::string>& texts) const;
  // Whether a line of standard input is an input; otherwise it is a JSON object.
  virtual bool reads_lines() const { return true; }
  // An input that another machine sent, as run() takes it. It must not name files of this machine.
  virtual Json received(const Fields& input) const { return input.json(); }
  // The answer to each input, in order. An Error of kind input is about one of them.
  virtual std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& options) = 0;
};

struct PipelineKind {
  std::string_view name;
  const char* summary;      // one line in a list of all
  const char* description;  // in its own help
  const char* example;      // a command
  // `name`: as it was called, see find_pipeline().
  std::unique_ptr<Pipeline> (*make)(const std::string& name);
  bool generates = false;  // its answers are new texts
};

// All of them, in the order of `attend run --help`.
std::span<const PipelineKind* const> pipelines();
// By its name, or by another that Hugging Face has for it (ner, sentiment-analysis, translation_en_to_de);
// null: there is none.
const PipelineKind* find_pipeline(const std::string& name);

template <class T>
std::unique_ptr<Pipeline> make_pipeline(const std::string&) {
  return std::make_unique<T>();
}

Option truncate_parameter(RunOptions& options);

// An Error with the input's name unless it has the pipeline's fields and, except for `others`, no more.
void check_fields(const Fields& input, const Pipeline& pipeline, std::span<const std::string_view> others);
// The text of an input. An Error, naming the input, if it is missing.
std::string text_of(const Fields& input);
std::vector<std::string> texts_of(const std::vector<Fields>& inputs);

}  // namespace attend
