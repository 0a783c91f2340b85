#include "cli/verb.h"

namespace attend::cli {

std::span<const Verb> verbs() {
  static constexpr Verb all[] = {
      {"run", "run a task: classify, fill in, answer, extract, summarize...", Home::program},
      {"generate", "continue a text with a decoder or encoder-decoder", Home::program},
      {"chat", "talk with a decoder in the terminal", Home::program},
      {"translate", "translate text", Home::program},
      {"serve", "answer other programs over HTTP: texts, chats, vectors, tasks", Home::serving},
      {"embed", "turn sentences into vectors; search a file by meaning", Home::program},
      {"forward", "run a model: tensors in, tensors (and gradients) out", Home::program},
      {"explain", "draw what a model does with a text or a picture, on one page", Home::program},
      {"tokenize", "turn text into tokens", Home::program},
      {"detokenize", "turn tokens into text", Home::program},
      {"tokenizer", "train a tokenizer", Home::program},
      {"init", "make a fresh model with random weights", Home::program},
      {"train", "train or fine-tune a model", Home::program},
      {"adapter", "merge an adapter into a model, take it out, say what it is", Home::program},
      {"convert", "write a model anew as transformers does", Home::program},
      {"quantize", "store a model in 8 or 4 bits", Home::program},
      {"evaluate", "measure a model on data", Home::program},
      {"inspect", "describe a model directory", Home::program},
      {"bench", "time a model", Home::program},
  };
  return all;
}

}  // namespace attend::cli
