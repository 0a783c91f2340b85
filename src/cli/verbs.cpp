#include "cli/options/verb.h"

namespace attend::cli {

int run(int argc, char** argv);
int generate(int argc, char** argv);
int chat(int argc, char** argv);
int translate(int argc, char** argv);
int serve(int argc, char** argv);
int embed(int argc, char** argv);
int forward(int argc, char** argv);
int explain(int argc, char** argv);
int tokenize(int argc, char** argv);
int detokenize(int argc, char** argv);
int tokenizer(int argc, char** argv);
int init(int argc, char** argv);
int train(int argc, char** argv);
int adapter(int argc, char** argv);
int convert(int argc, char** argv);
int quantize(int argc, char** argv);
int evaluate(int argc, char** argv);
int inspect(int argc, char** argv);
int bench(int argc, char** argv);

std::span<const Verb> verbs() {
  static constexpr Verb all[] = {
      {"run", "run a task: classify, fill masks, answer questions, extract, summarize...", run},
      {"generate", "continue a text with a decoder or encoder-decoder", generate},
      {"chat", "chat with a decoder in the terminal", chat},
      {"translate", "translate text", translate},
      {"serve", "serve models over HTTP: completions, chats, embeddings, tasks", serve},
      {"embed", "turn sentences into vectors; search a file by meaning", embed},
      {"forward", "run a model: tensors in, tensors (and gradients) out", forward},
      {"explain", "show how a model processes a text or a picture, on one page", explain},
      {"tokenize", "turn text into tokens", tokenize},
      {"detokenize", "turn tokens into text", detokenize},
      {"tokenizer", "train a tokenizer", tokenizer},
      {"init", "create a model with random weights", init},
      {"train", "train or fine-tune a model", train},
      {"adapter", "merge an adapter into a model, remove it, or describe it", adapter},
      {"convert", "rewrite a model as transformers would", convert},
      {"quantize", "store a model in 8 or 4 bits", quantize},
      {"evaluate", "evaluate a model on data", evaluate},
      {"inspect", "describe a model directory", inspect},
      {"bench", "measure the speed of a model", bench},
  };
  return all;
}

}  // namespace attend::cli
