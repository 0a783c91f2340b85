#include "training/recipe_options.h"

#include "objectives/base/registry.h"

namespace attend {
namespace {

using Names = std::vector<std::string>;
using namespace option;

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Groups of objectives that have options in common.
const Names kImages = {"image-classification", "masked-images"};
const Names kTextTables = {"classification",     "regression",      "multi-label", "token-classification",
                           "question-answering", "multiple-choice", "pairs",       "scored-pairs"};
const Names kMasks = {"masked-lm", "next-sentence", "sentence-order", "replaced-tokens", "translation-lm"};
const Names kSpans = {"span-corruption", "denoising", "permutation-lm"};
const Names kDocuments = {"causal-lm",      "masked-lm",       "next-sentence",
                          "sentence-order", "replaced-tokens", "permutation-lm"};
const Names kConversations = {"chat", "preferences"};
const Names kReadTwice = {"sequence-to-sequence", "causal-lm",           "chat", "classification",
                          "token-classification", "image-classification"};
const Names kAdapters = {"lora", "ia3", "prefix", "prompt"};

const Json kAny = schema::number();
const Json kPositive = schema::number_above(0);
const Json kNotNegative = schema::number(0);
const Json kFraction = schema::number(0, 1);
const Json kFractionBelowOne = schema::number(0, 0.999);

Option for_objectives(const Option& option, const Names& objectives) {
  return option.only_with("objective", objectives);
}

Option objective_option(std::string& objective) {
  std::vector<Json> names;
  std::string list = "What the model learns:";
  for (const ObjectiveKind* kind : objective_kinds()) {
    names.emplace_back(kind->name);
    list += fmt::format("\n  {}: {}", kind->name, kind->summary);
  }
  return word("objective", objective, names, list);
}

// The names of columns: one text, or several texts that are joined.
Option columns_option(std::string& columns) {
  Option option = text("columns", columns, "Columns of roles: text=tweet by header name, label=2 by number");
  option.schema = schema::any_of({schema::list(schema::name(), 1), schema::text()});
  option.set = [&columns](const Json& given) {
    columns =
        given.is_string() ? given.get<std::string>() : fmt::format("{}", fmt::join(given.get<Names>(), ","));
  };
  return option.also("column");
}

Options run_options(Recipe& r) {
  Option train = list("train", r.train, "The data"), output = text("output", r.output,
                                                                   "Directory for the trained model and the "
                                                                   "checkpoints");
  train.required = output.required = true;
  return {
      objective_option(r.objective),
      train,
      list("validation", r.validation, "Validation data, in the same format"),
      output,
      for_objectives(text("generator", r.generator, "replaced-tokens: the generator model"),
                     {"replaced-tokens"}),
      for_objectives(
          text("reference", r.reference,
               "preferences: the model that this one is compared with. Default in training: the model as it "
               "starts; else: the model without its adapter"),
          {"preferences"}),
      flag("fresh_head", r.fresh_head,
           "Always make a new head. By default the model's own head continues training, with its labels "
           "and ids, if it fits the objective and knows all labels of the data"),
      for_objectives(
          flag("bleu", r.bleu,
               "Validate by BLEU, chrF and ROUGE of greedy translations as well as by loss; implied "
               "if `best` is one of them"),
          {"sequence-to-sequence"}),
      flag("lowercase_bleu", r.lowercase_bleu, "Ignore case in BLEU and chrF")};
}

}  // namespace

Options options_of(DataRecipe& d) {
  const Names truncated =
      Names{"causal-lm", "sequence-to-sequence"} + kTextTables + kConversations + kMasks + kSpans;
  return {
      for_objectives(word("format", d.format, {"tsv", "csv", "jsonl", "json"},
                          "Format of tables; default: by file extension"),
                     kTextTables + kImages),
      for_objectives(columns_option(d.columns), kTextTables + kImages),
      for_objectives(
          flag("header", d.header,
               "The first line of TSV or CSV is a header (--no-header: a row); default: detected from its "
               "content"),
          kTextTables + kImages),
      for_objectives(
          number("score_range", d.score_range, schema::pair(kAny, kAny),
                 "MIN,MAX: the pair scores that mean cosines of 0 and 1. By default, scores from -1 to 1 "
                 "are cosines, and others are divided by the first of 5, 10 and 100 that none exceeds"),
          {"scored-pairs"}),
      for_objectives(
          integer("max_length", d.max_length, 0,
                  "Max tokens of a text; 0: the model's maximum. Longer pairs of sequence-to-sequence are "
                  "skipped, other texts truncated"),
          truncated),
      for_objectives(integer("length", d.length, 0,
                             "Tokens per block of running text; 0: `max_length`, or the model's maximum"),
                     Names{"causal-lm"} + kMasks + kSpans),
      for_objectives(
          text("template", d.chat_template,
               "chat, preferences: a Jinja chat template, or the name of one of the model's; its {% "
               "generation %} marks say what is learned"),
          kConversations),
      for_objectives(
          list("languages", d.languages,
               "XLM: the language of each file, or one for all, by the names of config.json's lang2id; "
               "default: by file extension (train.en)"),
          {"masked-lm", "replaced-tokens", "translation-lm"}),
      for_objectives(
          number("bpe_dropout", d.bpe_dropout, kFractionBelowOne,
                 "sequence-to-sequence: BPE-dropout on both sides: the probability to skip a merge, new "
                 "in each epoch"),
          {"sequence-to-sequence"}),
      for_objectives(text("cache", d.cache, "Folder for the tokens of large texts, for later runs"),
                     kDocuments)};
}

Options options_of(NoiseRecipe& n) {
  const Names denoising = {"denoising"};
  return {for_objectives(number("mask_rate", n.mask_rate, kFractionBelowOne,
                                "Fraction of the tokens (or patches) to mask and predict; default: as in the "
                                "objective's paper"),
                         kMasks + kSpans + Names{"masked-images"}),
          for_objectives(flag("whole_words", n.whole_words, "Mask all pieces of a word together"), kMasks),
          for_objectives(integer("ngram", n.ngram, 0,
                                 "Mask up to this many words in a row; 0: 3 for sentence-order, else 1"),
                         kMasks),
          for_objectives(
              number("mean_span", n.mean_span, kPositive, "Mean length of a masked span in tokens"), kSpans),
          for_objectives(number("permute_sentences", n.permute_sentences, kFraction,
                                "denoising: fraction of texts with shuffled sentences"),
                         denoising),
          for_objectives(
              number("rotate", n.rotate, kFraction, "denoising: fraction of texts that start elsewhere"),
              denoising),
          for_objectives(number("delete_rate", n.delete_rate, kFractionBelowOne,
                                "denoising: fraction of tokens that are deleted"),
                         denoising),
          for_objectives(word("infilling", n.infilling, {"spans", "tokens"},
                              "denoising: a mask for each span, or for each token"),
                         denoising),
          for_objectives(integer("augment_shift", n.augment_shift, 0,
                                 "Shift pictures by up to this many pixels in each direction"),
                         kImages),
          for_objectives(flag("augment_flip", n.augment_flip, "Mirror half of the pictures"), kImages)};
}

Options options_of(LossRecipe& l) {
  return {
      number("label_smoothing", l.label_smoothing, kFractionBelowOne,
             "Label smoothing of the loss; preferences: the share of pairs that are taken to be swapped"),
      for_objectives(
          number("r_drop", l.r_drop, kNotNegative,
                 "R-Drop: compute each batch twice, with different dropout, and weight the difference "
                 "of the predictions by this; 5 for translation; a step takes twice as long"),
          kReadTwice),
      for_objectives(number("beta", l.beta, kPositive,
                            "preferences: how closely the model stays with its reference; higher is closer"),
                     {"preferences"}),
      for_objectives(word("loss_type", l.loss_type, {"sigmoid", "robust", "hinge", "ipo"},
                          "preferences: sigmoid is DPO (with `label_smoothing` cDPO)"),
                     {"preferences"}),
      for_objectives(number("discriminator_weight", l.discriminator_weight, kAny,
                            "replaced-tokens: weight of the discriminator's loss"),
                     {"replaced-tokens"}),
      for_objectives(number("scale", l.scale, kPositive, "pairs: a factor on the cosines"), {"pairs"}),
      for_objectives(integers("matryoshka", l.matryoshka, 1,
                              "pairs, scored-pairs: vector sizes that must also work alone (Matryoshka)"),
                     {"pairs", "scored-pairs"})};
}

Options options_of(DistillationRecipe& d) {
  const Names taught = {"teacher"};
  return {
      text("teacher", d.teacher,
           "A trained model to learn from, in addition to the labels, or a file from attend evaluate "
           "`save_scores`"),
      number("temperature", d.temperature, kPositive, "Temperature of the teacher's and the model's scores")
          .only_with_any(taught),
      number("soft_weight", d.soft_weight, kNotNegative, "Weight of the teacher's scores in the loss")
          .only_with_any(taught),
      number("hard_weight", d.hard_weight, kNotNegative, "Weight of the labels in the loss")
          .only_with_any(taught),
      number("hidden_weight", d.hidden_weight, kNotNegative,
             "Weight of the teacher's hidden states in the loss")
          .only_with_any(taught),
      integers("keep_layers", d.keep_layers, 0,
               "Start with only these layers of the model (0 2 4); for a student of `teacher` with all "
               "layers")};
}

Options options_of(AdapterRecipe& a) {
  const Names lora = {"lora"};
  return {
      integer("lora", a.lora, 0,
              "Train low-rank factors of this rank and freeze the model (LoRA); the result is an adapter in "
              "peft's "
              "format"),
      number("lora_alpha", a.lora_alpha, kNotNegative,
             "LoRA scale: what the factors add is multiplied by alpha / rank; 0: 2 x rank")
          .only_with_any(lora),
      number("lora_dropout", a.lora_dropout, kFractionBelowOne, "Dropout on the inputs of the LoRA factors")
          .only_with_any(lora),
      word("lora_kind", a.lora_kind, {"lora", "rslora", "dora"},
           "rslora: scale by alpha / sqrt(rank); dora: also train the magnitude of each row")
          .only_with_any(lora),
      texts("lora_targets", a.lora_targets,
            "Modules to adapt: suffixes of names (query,value), all-linear, or a regular expression")
          .also("target_modules")
          .only_with_any({"lora", "ia3"}),
      word("lora_bias", a.lora_bias, {"none", "all", "lora_only"}, "Biases to train as well")
          .only_with_any(kAdapters),
      word("lora_init", a.lora_init, {"default", "gaussian", "pissa"},
           "Initialization of the factors: pissa: from the largest singular values of the matrix; gaussian: "
           "as in "
           "peft")
          .only_with_any(lora),
      flag("ia3", a.ia3, "Train only factors of keys, values and inner activations (IA3)"),
      integer("prefix", a.prefix, 0, 4096,
              "Train only this many virtual keys and values in every layer (prefix tuning); 0: none"),
      integer("prompt", a.prompt, 0, 4096, "Train only this many virtual tokens (prompt tuning); 0: none"),
      texts("modules_to_save", a.modules_to_save, "Modules to train whole, in addition to the adapter")
          .only_with_any(kAdapters)};
}

std::vector<OptionGroup> option_groups(Recipe& r) {
  return {{"Run", run_options(r)},
          {"Data", options_of(r.data)},
          {"Noise", options_of(r.noise)},
          {"Loss", options_of(r.loss)},
          {"Distillation", options_of(r.distillation)},
          {"Adapters", options_of(r.adapter)},
          {"Duration", options_of(r.duration)},
          {"Batches", options_of(r.batch)},
          {"Optimizer", options_of(r.optimizer)},
          {"Learning rate over time", options_of(r.schedule)},
          {"Computation", options_of(r.computation)},
          {"Validation and checkpoints", options_of(r.checkpoints)},
          {"Several processes", options_of(r.processes)}};
}

Options options_of(Recipe& recipe) {
  Options all;
  for (OptionGroup& group : option_groups(recipe)) all = std::move(all) + group.options;
  return all;
}

}  // namespace attend
