// attend evaluate TASK MODEL DATA...: the task's metrics.
#include <attend/tasks.h>
#include <attend/training.h>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/options/generation_options.h"
#include "cli/options/model_option.h"
#include "cli/options/table_options.h"
#include "cli/options/talk_options.h"
#include "cli/options/text_lines.h"
#include "cli/options/verb.h"
#include "formats/json/json.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/rouge.h"

#include <iostream>

namespace attend::cli {
namespace {

// The last of these are objectives (by name, except similarity), which define how data is read and the
// metrics.
const std::vector<std::string> kTasks = {"translation",
                                         "summarization",
                                         "perplexity",
                                         "watermark",
                                         "language-model",
                                         "classification",
                                         "regression",
                                         "multi-label",
                                         "token-classification",
                                         "question-answering",
                                         "multiple-choice",
                                         "similarity",
                                         "image-classification",
                                         "causal-lm",
                                         "masked-lm",
                                         "pairs",
                                         "chat",
                                         "preferences"};

struct EvaluateArguments {
  std::string task;
  ModelPath model;
  std::vector<std::string> data;
  TranslateOptions options;
  std::string tokenize = "13a", save, save_scores, generation_config, format, columns;
  std::string chat_template, loss_type = "sigmoid";
  std::filesystem::path reference;
  double beta = 0.1;
  std::optional<bool> header;
  std::optional<std::pair<double, double>> score_range;
  bool lowercase = false, lines = false, tokens = false, json = false;
  std::int64_t length = 0, stride = 0, max_length = 0, batch_size = 0;
};

void print(const EvaluateArguments& a, const Json& figures, const std::string& text) {
  std::cout << (a.json ? figures.dump() : text) << "\n";
}

std::vector<std::string> translations(const EvaluateArguments& a, const std::vector<std::string>& sources) {
  Translator translator(a.model);
  Progress progress("translating", sources.size(), "texts");
  TranslateOptions options = a.options;
  options.on_progress = [&](std::size_t done, std::size_t) { progress.update(done); };
  return translator.translate(sources, options);
}

// The corresponding lines of two files.
std::pair<std::vector<std::string>, std::vector<std::string>> read_pairs(const EvaluateArguments& a) {
  if (a.data.size() != 2) fail("expected two files, source and target, found {}", a.data.size());
  std::vector<std::string> sources = read_lines(a.data[0]), targets = read_lines(a.data[1]);
  if (sources.size() != targets.size())
    fail("{} has {} lines and {} has {}: line n of one must belong to line n of the other", a.data[0],
         sources.size(), a.data[1], targets.size());
  if (sources.empty()) fail("{}: the file is empty", a.data[0]);
  return {std::move(sources), std::move(targets)};
}

// Translates the source, or with MODEL "-" takes the first file as the translation.
void evaluate_translation(const EvaluateArguments& a) {
  const auto [sources, references] = read_pairs(a);
  const std::vector<std::string> hypotheses = a.model.directory == "-" ? sources : translations(a, sources);
  if (!a.save.empty()) write_file_atomically(a.save, fmt::format("{}\n", fmt::join(hypotheses, "\n")));
  const Bleu bleu = corpus_bleu(hypotheses, references, {bleu_tokenizer(a.tokenize), a.lowercase});
  const Chrf chrf = corpus_chrf(hypotheses, references, {.lowercase = a.lowercase});
  RougeMetric rouge;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) rouge.add(hypotheses[i], references[i]);
  Json figures = {{"bleu", bleu.score},
                  {"chrf", chrf.score},
                  {"bleu_signature", bleu.signature},
                  {"chrf_signature", chrf.signature}};
  std::string rouges;
  for (const auto& [name, value] : rouge.figures()) {
    figures[name] = value;
    rouges += fmt::format("{}{} {:.4f}", rouges.empty() ? "" : ", ", name, value);
  }
  print(a, figures, a.task == "summarization" ? rouges : to_string(bleu) + "\n" + to_string(chrf));
}

void evaluate_objective(const EvaluateArguments& a) {
  Recipe recipe;
  recipe.objective = a.task == "similarity" ? "scored-pairs" : a.task;
  recipe.model = a.model;
  recipe.train = a.data;
  recipe.batch_tokens = a.options.batch_tokens;
  recipe.batch_size = a.batch_size;
  recipe.length = a.length;
  recipe.max_length = a.max_length;
  recipe.format = a.format;
  recipe.columns = a.columns;
  recipe.header = a.header;
  recipe.score_range = a.score_range;
  recipe.save_scores = a.save_scores;
  recipe.chat_template = a.chat_template;
  recipe.reference = a.reference;
  recipe.beta = a.beta;
  recipe.loss_type = a.loss_type;
  Json figures;
  std::string text;
  for (const auto& [name, value] : attend::evaluate(recipe)) {
    figures[name] = value;
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", name, value);
  }
  print(a, figures, text);
}

// Texts and the scores of their tokens.
struct Scored {
  std::vector<std::string> texts;
  std::vector<std::vector<TokenProbability>> tokens;
};

Scored score_texts(const EvaluateArguments& a) {
  TextScorer scorer(a.model);
  ScoreTextOptions options;
  options.batch_tokens = a.options.batch_tokens;
  if (a.length > 0) options.length = a.length;
  if (a.stride > 0) options.stride = a.stride;
  Progress progress("scoring", 0, "parts");
  options.on_progress = [&](std::size_t done, std::size_t) { progress.update(done); };
  if (scorer.method() == ScoringMethod::given_source) {
    auto [sources, targets] = read_pairs(a);
    auto tokens = scorer.score(sources, targets, options);
    return {std::move(targets), std::move(tokens)};
  }
  std::vector<std::string> texts;
  for (const std::string& file : a.data) {
    // Encoders read sentences, decoders running text.
    if (a.lines || scorer.method() == ScoringMethod::masked)
      for (std::string& line : read_lines(file)) texts.push_back(std::move(line));
    else
      texts.emplace_back(TextFile(file).text());
  }
  auto tokens = scorer.score(texts, options);
  return {std::move(texts), std::move(tokens)};
}

void print_tokens(const Scored& scored) {
  for (std::size_t i = 0; i < scored.texts.size(); ++i) {
    Json ids = Json::array(), tokens = Json::array(), scores = Json::array();
    for (const TokenProbability& each : scored.tokens[i]) {
      ids.push_back(each.token);
      tokens.push_back(each.token_text);
      scores.push_back(each.log_probability);
    }
    print_line(Json{
        {"text", scored.texts[i]},
        {"log_probability", likelihood({scored.tokens[i]}).log_probability},
        {"ids", ids},
        {"tokens", tokens},
        {"log_probabilities",
         scores}}.dump());
  }
}

void evaluate_perplexity(const EvaluateArguments& a) {
  const Scored scored = score_texts(a);
  const Likelihood all = likelihood(scored.tokens);
  if (all.tokens == 0) fail("{}: expected a text of at least two tokens", fmt::join(a.data, ", "));
  if (a.tokens) return print_tokens(scored);
  print(a,
        {{"loss", all.loss()},
         {"perplexity", all.perplexity()},
         {"log_probability", all.log_probability},
         {"tokens", all.tokens}},
        fmt::format("loss {:.4f}, perplexity {:.3f}, {} tokens", all.loss(), all.perplexity(), all.tokens));
}

// The traces that the watermark of the model's generation config, or of the given file, leaves in every line.
void evaluate_watermark(const EvaluateArguments& a) {
  const std::string settings = a.generation_config.empty() ? "{}" : read_json(a.generation_config).dump();
  const WatermarkDetector detector = [&] {
    try {
      return WatermarkDetector(a.model, settings);
    } catch (const Error& error) {  // the user's call names the file
      if (a.generation_config.empty() || error.kind() != ErrorKind::call) throw;
      fail("{}: {}", a.generation_config, error.what());
    }
  }();
  for (const std::string& file : a.data) {
    const std::vector<std::string> lines = read_lines(file);
    if (lines.empty()) fail("{}: the file is empty", file);
    const std::vector<WatermarkFinding> found = detector.find(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto& [tokens, share, expected, z, p] = found[i];
      print(a,
            {{"text", lines[i]},
             {"tokens", tokens},
             {"share", share},
             {"expected", expected},
             {"z", z},
             {"p", p}},
            fmt::format("z {:.2f}, p {:.2g}, {} tokens, {:.1f} % marked (other texts: {:.1f} %)", z, p,
                        tokens, 100 * share, 100 * expected));
    }
  }
}

}  // namespace

int evaluate(int argc, char** argv) {
  EvaluateArguments a;
  Parser parser(
      "evaluate",
      "Evaluates a model on data.\ntranslation: BLEU and chrF, as sacrebleu computes them; with MODEL \"-\" "
      "the first file contains the translations. summarization: ROUGE in the same way; --json prints all "
      "metrics.\nperplexity: the perplexity of texts. A decoder reads each file in overlapping windows, an "
      "encoder-decoder the lines of a source and a target, an encoder single lines with one token masked at "
      "a time (pseudo-perplexity).\nlanguage-model: loss and perplexity of a decoder on blocks of running "
      "text, or of a masked language model on masked words, as validation in training computes "
      "them.\nclassification, regression, multi-label, token-classification, question-answering, "
      "multiple-choice, image-classification: the metrics of a fine-tuned model on data in the formats of "
      "attend train. Labels are the model's, by name or number.\nsimilarity: correlation of the cosines of "
      "sentence pairs with their scores. pairs: how often the matching text is the nearest of all "
      "(recall@1). chat: loss and perplexity of the assistant's words. preferences: how often the better "
      "answer is the one that the model prefers more than --reference does, or than without its "
      "adapter.\nwatermark: whether lines carry the watermark of a watermarking_config: z is how many "
      "standard deviations the number of marked tokens is above that of unmarked texts, p the fraction of "
      "unmarked texts with such a z.",
      "attend evaluate translation en-de-trained test.en test.de\n"
      "  attend evaluate classification MiniLM-reviews dev.tsv --columns text=sentence,label=label --json\n"
      "  attend evaluate perplexity gpt2 book.txt --stride 256\n"
      "  attend evaluate watermark gpt2 letters.txt --generation-config marked.json");
  parser.app()
      .add_option("task", a.task, fmt::format("{}", fmt::join(kTasks, ", ")))
      ->required()
      ->check(CLI::IsMember(kTasks));
  add_model(parser.app(), a.model);
  add_cache(parser.app(), a.model);
  parser.app()
      .add_option("data", a.data, "Files: source and target, running text, or examples of a task")
      ->required();
  parser.app().add_option("--beams", a.options.beams, "Number of beams")->check(positive());
  add_languages(parser.app(), a.options.source_language, a.options.target_language);
  parser.app().add_option("--length-penalty", a.options.length_penalty, "Length penalty of beam search");
  parser.app().add_option("--batch-tokens", a.options.batch_tokens, "Tokens per batch")->check(positive());
  parser.app()
      .add_option("--batch-size", a.batch_size, "Max examples per batch; 0: as many as --batch-tokens allows")
      ->check(not_negative());
  parser.app()
      .add_option("--max-length", a.max_length,
                  "Max tokens of a text; 0: as in training. Longer texts are truncated")
      ->check(not_negative());
  add_table_options(parser.app(), {a.format, a.columns, a.header});
  add_score_range(parser.app(), a.score_range);
  add_talk_options(parser.app(), {a.chat_template, a.reference, a.beta, a.loss_type});
  parser.app()
      .add_option("--length", a.length, "Tokens of a window or block; 0: all positions of the model")
      ->check(not_negative());
  parser.app()
      .add_option("--stride", a.stride, "Tokens between the starts of two windows; 0: half of a window")
      ->check(not_negative());
  parser.app().add_option("--generation-config", a.generation_config,
                          "Watermark: a JSON file with a watermarking_config; default: the model's");
  parser.app().add_flag("--lines", a.lines, "Perplexity of a decoder: every line is a separate text");
  parser.app().add_flag(
      "--tokens", a.tokens,
      "Perplexity: print one JSON object per text, with the log-probability of every token");
  parser.app().add_option("--tokenize", a.tokenize, "Tokenization for BLEU: 13a, intl, char or none");
  parser.app().add_flag("--lowercase", a.lowercase, "Ignore case");
  parser.app().add_option("--save-translations", a.save, "A file to write the translations to");
  parser.app().add_option("--save-scores", a.save_scores,
                          "A file to write the scores of each example to, for attend train --teacher FILE");
  parser.app().add_flag("--json", a.json, "Print one JSON object");
  if (const auto status = parser.parse(argc, argv)) return *status;
  const bool translates = a.task == "translation" || a.task == "summarization";
  if (a.model.cache != CacheFormat::float32 && !translates && a.task != "perplexity")
    fail("--cache is only for translation, summarization and perplexity; {} uses no KV cache", a.task);
  if (translates)
    evaluate_translation(a);
  else if (a.task == "perplexity")
    evaluate_perplexity(a);
  else if (a.task == "watermark")
    evaluate_watermark(a);
  else
    evaluate_objective(a);
  return 0;
}

}  // namespace attend::cli
