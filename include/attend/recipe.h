// A training run as data.
//
// Each member is also an option of `attend train`, under its name with dashes unless a comment says otherwise
// (docs/options.md lists them all). Members that are not set (std::nullopt, 0, an empty text) get
// defaults from the objective: fine-tuning runs three epochs with AdamW and a small, decaying learning rate;
// training from scratch follows the objective's paper.
#pragma once

#include <attend/export.h>
#include <attend/model_path.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attend {
inline namespace v1 {

// How the data is read.
struct DataRecipe {
  std::string format;   // of tables: tsv, csv or jsonl; empty: by file extension
  std::string columns;  // "text=sentence,label=label", by name or number
  // Whether the first line of TSV and CSV names the columns; absent: by its content.
  std::optional<bool> header;
  // scored-pairs: the scores for cosines of 0 and 1. Absent: scores from -1 to 1 are cosines, others are
  // divided by the first of 5, 10 and 100 that none exceeds.
  std::optional<std::pair<double, double>> score_range;
  // Max tokens of an example; 0: the model's maximum, at most 512 (chat, preferences: 1024).
  std::int64_t max_length = 0;
  std::int64_t length = 0;  // tokens per block of running text; 0: max_length
  // chat, preferences: a Jinja template, or the name of one of the model's; empty: the model's default.
  std::string chat_template;  // option: template
  // For models that know the language of a token (XLM): one language per file, or one for all; names of
  // config.json's lang2id, or numbers. Empty: by file extension (train.en).
  std::vector<std::string> languages;
  double bpe_dropout = 0;       // sequence-to-sequence: new splits of words in each epoch
  std::filesystem::path cache;  // folder for the token ids of large texts, for later runs; empty: none
};

// Masking and other changes of the inputs.
struct NoiseRecipe {
  // Fraction of the tokens (or patches) that are masked and predicted. The default is that of the objective's
  // paper: masked-lm and its relatives and span-corruption 0.15, denoising 0.3, permutation-lm 1/6,
  // masked-images 0.6.
  std::optional<double> mask_rate;
  bool whole_words = false;         // mask all pieces of a word together
  std::int64_t ngram = 0;           // max words in a row (n-gram masking); 0: 3 for sentence-order, else 1
  double mean_span = 3;             // span-corruption, permutation-lm, denoising (the mean of a Poisson)
  double permute_sentences = 0;     // denoising: fraction of texts with shuffled sentences
  double rotate = 0;                // denoising: fraction of texts that start elsewhere
  double delete_rate = 0;           // denoising: fraction of tokens that are deleted
  std::string infilling = "spans";  // denoising: "spans" (a mask for each span) or "tokens" (one per token)
  // Pictures, in training only: shift by up to this many pixels in each direction; mirror half of them.
  std::int64_t augment_shift = 0;
  bool augment_flip = false;
};

struct LossRecipe {
  double label_smoothing = 0;         // preferences: the share of pairs that are taken to be swapped
  double r_drop = 0;                  // weight of R-Drop (Liang et al. 2021)
  double beta = 0.1;                  // preferences: how closely the model stays with its reference
  std::string loss_type = "sigmoid";  // preferences: or "robust", "hinge", "ipo"
  double discriminator_weight = 50;   // replaced-tokens
  double scale = 20;                  // pairs: a factor on the cosines
  // pairs, scored-pairs: vectors that consist of this many first numbers must work alone too.
  std::vector<std::int64_t> matryoshka;
};

// Learning from a larger model.
struct DistillationRecipe {
  std::filesystem::path teacher;  // the model, or a file with its scores (see save_scores); empty: none
  double temperature = 2;
  double soft_weight = 0.5, hard_weight = 0.5, hidden_weight = 0;  // of the terms of the loss
  std::vector<std::int64_t> keep_layers;  // the student is made of only these layers of the model
};

// An adapter is trained while the model stays frozen, and saved to Recipe::output, as in peft.
struct AdapterRecipe {
  std::int64_t lora = 0;  // its rank; 0: no LoRA
  double lora_alpha = 0;  // 0: twice the rank
  double lora_dropout = 0;
  std::string lora_kind = "lora";  // or "rslora", "dora"
  // Suffixes of module names, one regular expression, or "all-linear"; empty: peft's default for the family.
  std::vector<std::string> lora_targets;
  std::string lora_bias = "none";     // biases of the model to train as well: none, all, lora_only
  std::string lora_init = "default";  // or "gaussian", "pissa"
  bool ia3 = false;
  std::int64_t prefix = 0;                   // prefix tuning: number of virtual keys and values in each layer
  std::int64_t prompt = 0;                   // prompt tuning: number of virtual tokens
  std::vector<std::string> modules_to_save;  // modules to train whole; heads always are
};

struct DurationRecipe {
  std::int64_t steps = 0;  // 0: until `epochs` or `minutes` are reached
  double epochs = 0;       // 0: no limit
  double minutes = 0;      // of the whole run, including all resumptions; 0: no limit. Option: max_minutes
};

struct BatchRecipe {
  // Max tokens of a batch, by the longer side of a pair: 4096, or no limit if `size` is given; and max
  // examples of a batch, 0: no limit. Options: batch_tokens, batch_size.
  std::optional<std::int64_t> tokens, size;
  std::int64_t accumulate = 1;  // batches per step; option: gradient_accumulation_steps
};

struct OptimizerRecipe {
  std::string name = "adamw";           // or "adafactor", "sgd", "lion", "muon"; option: optimizer
  std::optional<double> learning_rate;  // the maximum of the schedule
  std::optional<double> weight_decay;
  std::optional<double> max_grad_norm;  // of all gradients together; 0: no limit
  // AdamW and Lion. beta1 is also Adafactor's (absent there: no first moment).
  std::optional<double> beta1, beta2;
  std::optional<double> epsilon;   // AdamW; Adafactor: added to squared gradients, 1e-30
  std::optional<double> momentum;  // SGD: 0.9, Muon: 0.95
  std::optional<bool> nesterov;    // SGD: false, Muon: true
  // Adafactor, as in transformers: the maximum root mean square of a step (1), the exponent of the second
  // moments' decay (-0.8); steps of min(0.01, 1/sqrt(step)) instead of learning rate, schedule and warm-up;
  // and these with a warm-up of 1e-6 x step.
  std::optional<double> clip_threshold, decay_rate;
  bool relative_step = false, warmup_init = false;
  // Muon, as in torch: Newton-Schulz iterations (5); "match_rms_adamw" (a learning rate as for AdamW, the
  // default) or "original".
  std::optional<std::int64_t> ns_steps;
  std::string adjust_lr_fn;
  // Multiplies the rate of each weight by the root mean square of its numbers, as for T5 and in Adafactor
  // (transformers: scale_parameter); typical rates are then 0.01 to 0.05.
  bool rate_by_size = false;
  double layer_decay = 1;           // a layer's rate is this times that of the layer above
  double head_rate = 1;             // a factor on the rate of new heads
  std::vector<std::string> freeze;  // embeddings, layers.0-5, all-but-head, or an expression
  double ema = 0;                   // decay of a running average of the weights, which is the result; 0: none
};

// The learning rate over time.
struct ScheduleRecipe {
  std::string name;                  // empty: by the objective; option: schedule
  std::optional<double> warmup;      // steps; below 1: a fraction of all steps
  double min_rate = 0;               // the final rate (transformers: lr_end, min_lr)
  std::int64_t cooldown = 0;         // number of last steps in which the rate falls to zero
  std::optional<double> power;       // polynomial: 1
  std::optional<double> num_cycles;  // cosine: waves, 0.5; cosine-with-restarts: 1
  // reduce-on-plateau: multiplies the rate by the factor (0.1) after more than `plateau_patience` (10)
  // validations without an improvement by the fraction `plateau_threshold` (1e-4).
  std::optional<double> plateau_factor, plateau_threshold;
  std::optional<std::int64_t> plateau_patience;
};

// How a step is computed.
struct ComputationRecipe {
  std::string precision = "float32";    // or the factors of matrix products: "bfloat16", or on a GPU "tf32"
  bool gradient_checkpointing = false;  // compute layers again in the backward pass: less memory, more time
  std::optional<double> dropout, attention_dropout, activation_dropout;  // absent: the model's
  std::uint64_t seed = 1;
};

// Validation and checkpoints.
struct CheckpointRecipe {
  std::int64_t validate_every = 0;  // steps, each with a checkpoint; 0: after each epoch
  std::int64_t save_every = 0;      // steps between additional checkpoints; 0: none
  std::string best;                 // the metric that selects the best checkpoint; Error for an unknown one
  // Stop after this many validations without a better metric; 0: never. With patience alone, fine-tuning runs
  // at most 20 epochs, or 5 x patience if that is more.
  std::int64_t patience = 0;
  std::int64_t keep = 1;     // number of newest checkpoints to keep, in addition to the best
  std::int64_t average = 1;  // the result is the mean of this many last checkpoints
  bool resume = false;       // continue from the newest checkpoint in Recipe::output
  // A folder for the inputs of each step, as safetensors with the names of transformers' arguments; empty:
  // none.
  std::filesystem::path save_batches;
};

// Several processes, where the environment says that this is one of them (docs/scaling.md). They train the
// model that one would, and share the work.
struct ProcessRecipe {
  double timeout = 300;  // seconds that one waits for the others; longer than writing a checkpoint takes
  bool shard_optimizer = false;  // each keeps the optimizer's state of a share of the weights (ZeRO-1)
  // Each also keeps the weights and gradients of a share of the layers only, and layers are sent when they
  // compute (ZeRO-3): less memory, more traffic. It implies shard_optimizer and gradient_checkpointing.
  bool shard_weights = false;
  // Steps that each process makes on its own before all average their weights: for slow networks (DiLoCo).
  // 0: the processes sum their gradients in every step.
  std::int64_t local_steps = 0;
  double outer_rate = 0.7, outer_momentum = 0.9;  // of the step that follows `local_steps`
};

struct Recipe {
  std::string objective;  // one of objectives()
  ModelPath model;  // the directory to start from, with its tokenizer; with an adapter, that goes on learning
  std::vector<std::string> train, validation;
  std::filesystem::path output;     // becomes a model directory; also holds checkpoints
  std::filesystem::path generator;  // replaced-tokens: the generator model
  // preferences: the model that this one is compared with. Empty: the model as it starts.
  std::filesystem::path reference;
  // Always make a new head. Otherwise the model's own head continues training, with its labels and ids, if it
  // fits the objective and knows all labels of the data.
  bool fresh_head = false;
  // sequence-to-sequence: validate by BLEU, chrF and ROUGE of greedy translations; BLEU and chrF ignore case.
  bool bleu = false, lowercase_bleu = false;
  // evaluate(): a safetensors file for the scores over labels of each example, for distillation without the
  // teacher; empty: none.
  std::filesystem::path save_scores;

  DataRecipe data;
  NoiseRecipe noise;
  LossRecipe loss;
  DistillationRecipe distillation;
  AdapterRecipe adapter;
  DurationRecipe duration;
  BatchRecipe batch;
  OptimizerRecipe optimizer;
  ScheduleRecipe schedule;
  ComputationRecipe computation;
  CheckpointRecipe checkpoints;
  ProcessRecipe processes;
};

}  // namespace v1
}  // namespace attend
