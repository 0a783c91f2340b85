#include "cli/verb.h"

namespace attend::cli {

std::span<const Verb> verbs() {
  static constexpr Verb all[] = {
      {"run", "run a task: classify, fill in, answer, extract, summarize...", Home::inference},
      {"generate", "continue a text with a decoder or encoder-decoder", Home::inference},
      {"chat", "talk with a decoder in the terminal", Home::inference},
      {"translate", "translate text", Home::inference},
      {"serve", "answer other programs over HTTP: texts, chats, vectors, tasks", Home::serving},
      {"embed", "turn sentences into vectors; search a file by meaning", Home::inference},
      {"forward", "run a model: tensors in, tensors (and gradients) out", Home::inference},
      {"explain", "draw what a model does with a text or a picture, on one page", Home::training},
      {"tokenize", "turn text into tokens", Home::program},
      {"detokenize", "turn tokens into text", Home::program},
      {"tokenizer", "train a tokenizer", Home::program},
      {"init", "make a fresh model with random weights", Home::training},
      {"train", "train or fine-tune a model", Home::training},
      {"adapter", "merge an adapter into a model, take it out, say what it is", Home::inference},
      {"convert", "write a model anew as transformers does", Home::inference},
      {"quantize", "store a model in 8 or 4 bits", Home::inference},
      {"evaluate", "measure a model on data", Home::inference},
      {"inspect", "describe a model directory", Home::inference},
      {"bench", "time a model", Home::inference},
  };
  return all;
}

}  // namespace attend::cli
