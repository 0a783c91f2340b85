// Training and fine-tuning as a program calls them: a recipe says what, train() does it.
//
//   attend::Recipe recipe;
//   recipe.objective = "classification";
//   recipe.model = "MiniLM";
//   recipe.train = {"reviews.tsv"};
//   recipe.output = "MiniLM-reviews";
//   attend::train(recipe);
//
// What a recipe leaves open (std::nullopt, 0, an empty text) follows from the objective: fine-tuning goes
// three times through the data with AdamW and a small, falling rate; training from nothing as the paper has
// it.
#pragma once

#include <attend/model_path.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attend {

struct Recipe {
  std::string objective;  // a name of objectives()
  ModelPath model;  // the directory to start from, with its tokenizer; with an adapter, that goes on learning
  std::vector<std::string> train, validation;
  std::filesystem::path output;     // becomes a model directory; checkpoints lie in it
  std::filesystem::path generator;  // replaced-tokens: the model whose guesses replace tokens
  // Distillation: the model whose answers are learned, or a file with its scores (see `save_scores`).
  std::filesystem::path teacher;
  bool resume = false;  // go on from the newest checkpoint in `output`
  // Makes a new head. Otherwise the model's own head goes on learning where it has one for the objective and
  // knows all labels of the data; its labels and their ids stay then.
  bool fresh_head = false;

  // The data.
  std::string format;   // of tables: tsv, csv or jsonl; empty: by the file's ending
  std::string columns;  // "text=sentence,label=label", by header or number
  std::optional<bool>
      header;  // whether the first line of TSV and CSV names the columns; absent: by what it is
  // scored-pairs: the scores that stand for cosines of 0 and 1. Absent: scores from -1 to 1 are cosines,
  // others are divided by the first of 5, 10 and 100 that none is above.
  std::optional<std::pair<double, double>> score_range;
  std::int64_t max_length = 0;  // longest example in tokens; 0: what the model can read, at most 512
  std::int64_t length = 0;      // of blocks of running text, in tokens; 0: max_length
  // Of each file, or one of all, where tokens know their language (XLM): names of config.json's lang2id, or
  // numbers. Empty: a file's ending (train.en).
  std::vector<std::string> languages;
  double bpe_dropout = 0;       // sequence-to-sequence: words are cut anew in each epoch
  std::filesystem::path cache;  // where the ids of large texts are kept for the next run; empty: nowhere

  // What is hidden of a text, and how.
  // Share of the tokens (or patches) that are hidden and predicted; by default as in the objective's paper:
  // masked-lm and its relatives and span-corruption 0.15, denoising 0.3, permutation-lm 1/6, masked-images
  // 0.6.
  std::optional<double> mask_rate;
  bool whole_words = false;  // all pieces of a word together
  std::int64_t ngram = 0;    // up to so many words in a row (n-gram masking); 0: 3 for sentence-order, else 1
  double mean_span = 3;      // span-corruption, permutation-lm, and denoising (Poisson with this mean)
  double permute_sentences = 0;  // denoising: share of texts whose sentences change places
  double rotate = 0;             // denoising: share of texts that begin elsewhere
  double delete_rate = 0;        // denoising: share of tokens that are left out without a trace
  std::string infilling =
      "spans";  // denoising: "spans" (a mask for each span) or "tokens" (one for each token)
  // Pictures, in training: moved by up to so many pixels either way; half of them mirrored.
  std::int64_t augment_shift = 0;
  bool augment_flip = false;

  // Losses.
  double label_smoothing = 0;
  double r_drop = 0;                 // weight of the disagreement of two readings (Liang et al. 2021)
  double discriminator_weight = 50;  // replaced-tokens
  double scale = 20;                 // pairs: of the cosines
  std::vector<std::int64_t>
      matryoshka;          // pairs, scored-pairs: these first numbers of a vector must do alone too
  double temperature = 2;  // distillation
  double soft_weight = 0.5, hard_weight = 0.5, hidden_weight = 0;  // distillation: of its terms
  std::vector<std::int64_t> keep_layers;  // distillation: the student is the model with these layers alone

  // An adapter learns beside the model, which stays as it is, and is what is left in `output`, as peft has
  // it.
  std::int64_t lora = 0;  // rank of its factors; 0: no LoRA
  double lora_alpha = 0;  // 0: twice the rank
  double lora_dropout = 0;
  std::string lora_kind = "lora";  // or "rslora", "dora"
  // Ends of module names, one regular expression, or "all-linear"; empty: what peft has for the family.
  std::vector<std::string> lora_targets;
  std::string lora_bias = "none";     // which biases of the model learn too: none, all, lora_only
  std::string lora_init = "default";  // or "gaussian", "pissa"
  bool ia3 = false;
  std::int64_t prefix = 0;  // so many keys and values before each text in every layer (prefix tuning)
  std::int64_t prompt = 0;  // so many vectors before those of each text's tokens (prompt tuning)
  std::vector<std::string> modules_to_save;  // modules that learn whole beside the adapter; heads always do

  // How long.
  std::int64_t steps = 0;
  double epochs = 0;
  double minutes = 0;  // of the whole run, over all resumptions
  // Validations without a better score before the run ends; 0: never. Fine-tuning with patience alone goes
  // through the data 20 times at most, or 5 x patience times if that is more.
  std::int64_t patience = 0;

  // Steps.
  // Tokens to a batch at most, by the longer side of a pair: 4096, or any number where batch_size is given;
  // and examples to a batch at most, 0: any number.
  std::optional<std::int64_t> batch_tokens, batch_size;
  std::int64_t accumulate = 1;      // batches to a step
  std::string optimizer = "adamw";  // or "adafactor", "sgd", "lion", "muon"
  std::optional<double> rate, weight_decay, clip;
  // AdamW and Lion: decays of the means. beta1 is Adafactor's too (absent there: no mean).
  std::optional<double> beta1, beta2;
  std::optional<double> epsilon;   // AdamW; Adafactor: added to squared gradients, 1e-30
  std::optional<double> momentum;  // SGD: 0.9, Muon: 0.95
  std::optional<bool> nesterov;    // SGD: false, Muon: true
  // Adafactor, as in transformers: the largest root mean square of a step (1), the exponent of the second
  // moments' decay (-0.8); steps of min(0.01, 1/sqrt(step)) instead of rate, schedule and warm-up; and these
  // with a warm-up of 1e-6 x step.
  std::optional<double> clip_threshold, decay_rate;
  bool relative_step = false, warmup_init = false;
  // Muon, as in torch: Newton-Schulz iterations (5); "match_rms_adamw" (a rate as AdamW's, the default) or
  // "original".
  std::optional<std::int64_t> ns_steps;
  std::string adjust_lr_fn;
  std::string schedule;
  std::optional<double> warmup;  // steps; below 1: a share of all steps
  double min_rate = 0;           // where the schedule ends (transformers: lr_end, min_lr)
  std::int64_t cooldown = 0;
  std::optional<double> power;       // polynomial: 1
  std::optional<double> num_cycles;  // cosine: waves, 0.5; cosine-with-restarts: 1
  // reduce-on-plateau: the rate is multiplied by the factor (0.1) when more than `plateau_patience` (10)
  // validations in a row have not been better by the share `plateau_threshold` (1e-4).
  std::optional<double> plateau_factor, plateau_threshold;
  std::optional<std::int64_t> plateau_patience;
  // The rate of each weight is times the root mean square of its numbers, as T5 and Adafactor have it
  // (transformers: scale_parameter); rates are then from 0.01 to 0.05.
  bool rate_by_size = false;
  double layer_decay = 1;  // each layer's rate is this times that of the layer above it
  double head_rate = 1;    // factor of the rate of fresh heads
  std::vector<std::string> freeze;
  double ema = 0;  // decay of a running average of the weights, which is what stays
  std::string precision = "float32";
  bool recompute = false;  // gradient checkpointing: less memory, a third more time
  std::optional<double> dropout, attention_dropout, activation_dropout;
  std::uint64_t seed = 1;

  // Validation and what stays.
  std::int64_t validate_every = 0;  // steps; 0: behind each epoch
  std::int64_t save_every = 0;      // steps between checkpoints beside those
  std::string best;                 // the score that chooses the best checkpoint; Error for an unknown one
  std::int64_t keep = 1;            // newest checkpoints that stay, beside the best
  std::int64_t average = 1;         // the result is the mean of so many last checkpoints
  // A folder for what each step reads, as safetensors with the names of transformers' arguments; empty:
  // nowhere.
  std::filesystem::path save_batches;
  // evaluate(): a safetensors file for the scores over labels of each example, from which a student can learn
  // without its teacher; empty: none.
  std::filesystem::path save_scores;
  // sequence-to-sequence: validate by BLEU, chrF and ROUGE of greedy translations; BLEU and chrF without
  // regard to case.
  bool bleu = false, lowercase = false;

  // Several processes, where the environment says that this is one of them (docs/scaling.md). They train the
  // model that one would, and share the work.
  double timeout = 300;  // seconds that one waits for the others; longer than writing a checkpoint takes
  bool shard_optimizer = false;  // each keeps the optimizer's state of a share of the weights (ZeRO-1)
  // Each goes so many steps by itself, then all meet: for slow networks (DiLoCo). 0: they add up gradients in
  // every step.
  std::int64_t local_steps = 0;
  double outer_rate = 0.7, outer_momentum = 0.9;  // of the step from meeting to meeting
};

enum class TrainingEnd { finished, interrupted };

// Trains and leaves the result in recipe.output. `stop` is asked between steps; true saves and ends the run.
// Error for a recipe that cannot be, for data that cannot be read, and as training/trainer.h says.
TrainingEnd train(const Recipe& recipe, const std::function<bool()>& stop = {});

// The names of all objectives, each with a line that says what it does.
std::vector<std::pair<std::string, std::string>> objectives();

// The figures of a model on data, by name: "accuracy", "f1", "spearman", "exact_match", "loss" ... The
// recipe's objective (or "language-model": causal or masked, as the model is), model, `train` (the data), the
// size of a batch and what says how data is read count. Error for a model that has not learned the objective:
// none is given a head.
std::vector<std::pair<std::string, double>> evaluate(const Recipe& recipe);

}  // namespace attend
