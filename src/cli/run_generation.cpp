// attend run: tasks whose answer is new text.
#include "cli/generation_options.h"
#include "cli/run_task.h"

#include <algorithm>
#include <random>

namespace attend::cli {
namespace {

// Fields of a generation_config.json that have an option of their own; --generation-config takes all.
constexpr const char* kFields[] = {"max_new_tokens",
                                   "max_length",
                                   "min_new_tokens",
                                   "min_length",
                                   "do_sample",
                                   "temperature",
                                   "top_k",
                                   "top_p",
                                   "num_beams",
                                   "length_penalty",
                                   "early_stopping",
                                   "num_return_sequences",
                                   "no_repeat_ngram_size",
                                   "repetition_penalty"};

// What the answer is called in JSON.
const char* result_name(GenerationTask task) {
  if (task == GenerationTask::summarization) return "summary_text";
  return task == GenerationTask::translation ? "translation_text" : "generated_text";
}

class Generation : public Task {
 public:
  Generation(GenerationTask task, std::string pair) : task_(task), pair_(std::move(pair)) {}

  void add_options(CLI::App& app) override {
    for (const std::string field : kFields) {
      std::string option = "--" + field;
      std::ranges::replace(option, '_', '-');
      app.add_option_function<std::string>(
          option,
          [this, field](const std::string& value) {
            const Json json = Json::parse(value, nullptr, /*allow_exceptions=*/false);
            fields_[field] = json.is_discarded() ? Json(value) : json;
          },
          "As " + field + " of generation_config.json");
    }
    app.add_option("--generation-config", config_file_,
                   "A JSON file with fields of generation_config.json, for this run");
    app.add_option("--seed", seed_, "Random seed; the same seed gives the same text");
    if (task_ == GenerationTask::text_generation)
      app.add_flag("--return-full-text,!--no-return-full-text", options_.full_text,
                   "Start the result with the prompt");
    if (task_ == GenerationTask::translation) add_languages(app, source_language_, target_language_);
  }

  void load(const ModelPath& model) override {
    Json settings =
        config_file_.empty() ? Json::object() : Fields(read_json(config_file_), config_file_).json();
    settings.update(fields_);
    options_.settings = settings.dump();
    options_.seed = seed_ ? *seed_ : std::random_device()();
    const bool given = !source_language_.empty();  // overrides the task's name
    generator_.emplace(model, task_, given ? source_language_ + "_to_" + target_language_ : pair_);
  }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    static_cast<RunOptions&>(options_) = run;
    std::vector<Json> answers;
    for (const std::vector<std::string>& made : generator_->generate(texts_of(inputs), options_)) {
      Json list = Json::array();
      for (const std::string& text : made) list.push_back(Json{{result_name(task_), text}});
      answers.push_back(std::move(list));
    }
    return answers;
  }

 private:
  GenerationTask task_;
  std::string pair_, source_language_, target_language_, config_file_;
  Json fields_ = Json::object();
  std::optional<std::uint64_t> seed_;
  GenerateTextOptions options_;
  std::optional<TextGenerator> generator_;
};

template <GenerationTask task>
std::unique_ptr<Task> make(const std::string& name) {
  const std::string prefix = "translation_";
  return std::make_unique<Generation>(task, name.starts_with(prefix) ? name.substr(prefix.size()) : "");
}

}  // namespace

std::span<const TaskVerb> generation_tasks() {
  static constexpr TaskVerb tasks[] = {
      {"text-generation", "continuations of a text",
       "Continues a text. By default it samples (--do-sample false: greedy decoding), at most 256 new "
       "tokens. `attend generate` prints text while it is generated.",
       "attend run text-generation gpt2 \"Once upon a time\" --max-new-tokens 40 --do-sample false",
       make<GenerationTask::text_generation>},
      {"text2text-generation", "the output of an encoder-decoder for a text",
       "Generates a text from another one, by default with four beams.",
       "attend run text2text-generation flan-t5-small \"Which colour has the sky?\" --num-beams 1",
       make<GenerationTask::text2text_generation>},
      {"summarization", "a summary of a text", "Summarizes a text.",
       "attend run summarization bart-large-cnn --max-new-tokens 60 < article.txt",
       make<GenerationTask::summarization>},
      {"translation", "a translation of a text",
       "Translates a text. --src-lang and --tgt-lang select the languages of M2M-100, and the settings and "
       "prefix that models like T5 have for them; the task name translation_en_to_de does the same.",
       "attend run translation opus-mt-en-de \"A dog runs on the beach.\"",
       make<GenerationTask::translation>},
  };
  return tasks;
}

}  // namespace attend::cli
