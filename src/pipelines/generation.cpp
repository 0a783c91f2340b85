// New texts: continuations, answers, summaries, translations.
#include "base/error.h"
#include "generation/config/config_options.h"
#include "pipelines/pipeline.h"

#include <algorithm>
#include <random>
#include <string_view>

namespace attend {
namespace {

// Fields of a generation_config.json that are parameters of their own; generation_config has all.
constexpr std::string_view kFields[] = {"max_new_tokens",
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

class Generation : public Pipeline {
 public:
  Generation(GenerationTask task, std::string pair) : task_(task), pair_(std::move(pair)) {}

  Options parameters() override {
    Options all;
    for (const OptionGroup& group : generation_fields())
      for (Option option : group.options) {
        option.set = [this, name = option.name](const Json& value) { fields_[name] = value; };
        if (std::ranges::find(kFields, option.name) != std::end(kFields)) all.push_back(std::move(option));
      }
    all.push_back(option::text("generation_config", config_file_,
                               "A JSON file with fields of generation_config.json, for this run"));
    all.push_back(option::make("seed", seed_, schema::integer(0, std::numeric_limits<std::int64_t>::max()),
                               "Random seed; the same seed gives the same text"));
    if (task_ == GenerationTask::text_generation)
      all.push_back(option::flag("return_full_text", options_.full_text, "Start the result with the prompt"));
    if (task_ == GenerationTask::translation) {
      all.push_back(option::text("src_lang", source_language_,
                                 "Source language of a multilingual model, such as en or eng_Latn"));
      all.push_back(option::text("tgt_lang", target_language_, "Target language of a multilingual model"));
    }
    return all;
  }

  void load(const ModelPath& model) override {
    if (source_language_.empty() != target_language_.empty())
      fail("src_lang, tgt_lang: expected both or neither, found one");
    Json settings =
        config_file_.empty() ? Json::object() : Fields(read_json(config_file_), config_file_).json();
    settings.update(fields_);
    options_.configure = with_fields(settings.dump());
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
std::unique_ptr<Pipeline> make(const std::string& name) {
  const std::string prefix = "translation_";
  return std::make_unique<Generation>(task, name.starts_with(prefix) ? name.substr(prefix.size()) : "");
}

}  // namespace

extern const PipelineKind text_generation_pipeline;
const PipelineKind text_generation_pipeline = {
    "text-generation",
    "continuations of a text",
    "Continues a text. By default it samples (--do-sample false: greedy decoding), at most 256 new "
    "tokens. `attend generate` prints text while it is generated.",
    "attend run text-generation gpt2 \"Once upon a time\" --max-new-tokens 40 --do-sample false",
    make<GenerationTask::text_generation>,
    true};
extern const PipelineKind text2text_generation_pipeline;
const PipelineKind text2text_generation_pipeline = {
    "text2text-generation",
    "the output of an encoder-decoder for a text",
    "Generates a text from another one, by default with four beams.",
    "attend run text2text-generation flan-t5-small \"Which colour has the sky?\" --num-beams 1",
    make<GenerationTask::text2text_generation>,
    true};
extern const PipelineKind summarization_pipeline;
const PipelineKind summarization_pipeline = {
    "summarization",
    "a summary of a text",
    "Summarizes a text.",
    "attend run summarization bart-large-cnn --max-new-tokens 60 < article.txt",
    make<GenerationTask::summarization>,
    true};
extern const PipelineKind translation_pipeline;
const PipelineKind translation_pipeline = {
    "translation",
    "a translation of a text",
    "Translates a text. src_lang and tgt_lang select the languages of M2M-100, and the settings and "
    "prefix that models like T5 have for them; the task name translation_en_to_de does the same.",
    "attend run translation opus-mt-en-de \"A dog runs on the beach.\"",
    make<GenerationTask::translation>,
    true};

}  // namespace attend
