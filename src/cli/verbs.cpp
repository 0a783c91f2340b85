#include "cli/verb.h"

namespace attend::cli {

std::span<const Verb> verbs() {
  static constexpr Verb all[] = {
      {"run", "run a task: classify, fill in, answer, extract, summarize...", Home::module},
      {"generate", "continue a text with a decoder or encoder-decoder", Home::module},
      {"chat", "talk with a decoder in the terminal", Home::module},
      {"translate", "translate text", Home::module},
      {"embed", "turn sentences into vectors; search a file by meaning", Home::module},
      {"forward", "run a model: tensors in, tensors (and gradients) out", Home::module},
      {"explain", "draw what a model does with a text or a picture, on one page", Home::module},
      {"tokenize", "turn text into tokens", Home::program},
      {"detokenize", "turn tokens into text", Home::program},
      {"tokenizer", "train a tokenizer", Home::program},
      {"init", "make a fresh model with random weights", Home::module},
      {"train", "train or fine-tune a model", Home::module},
      {"adapter", "merge an adapter into a model, take it out, say what it is", Home::module},
      {"convert", "write a model anew as transformers does", Home::module},
      {"quantize", "store a model in 8 or 4 bits", Home::module},
      {"evaluate", "measure a model on data", Home::module},
      {"inspect", "describe a model directory", Home::program},
      {"bench", "time a model", Home::module},
  };
  return all;
}

}  // namespace attend::cli
