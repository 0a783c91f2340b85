// attend bench MODEL --work W: times a model.
#include "tasks/bench.h"

#include "cli/options/model_option.h"
#include "cli/options/verb.h"
#include "formats/json/json.h"
#include "training/bench.h"

#include <algorithm>
#include <iostream>

namespace attend::cli {

int bench(int argc, char** argv) {
  BenchOptions options;
  std::string precision = "float32";
  bool json = false;
  Parser parser("bench", "Measures the speed of a model on random tokens, after one warm-up round.",
                "attend bench all-MiniLM-L6-v2 --work encode --batch 32 --length 128");
  add_model(parser.app(), options.model);
  add_cache(parser.app(), options.model);
  parser.app()
      .add_option("--work", options.work,
                  "What to measure: encode (one pass of all stacks), image (the same for pictures), "
                  "generate, translate or train")
      ->check(CLI::IsMember({"encode", "image", "generate", "translate", "train"}));
  parser.app().add_option("--batch", options.batch, "Sequences or images per batch")->check(positive());
  parser.app().add_option("--length", options.length, "Tokens per sequence")->check(positive());
  parser.app()
      .add_option("--lengths", options.lengths, "Lengths of the sequences, a,b,c, instead of --length")
      ->delimiter(',')
      ->check(positive());
  parser.app()
      .add_option("--new-tokens", options.new_tokens, "Number of new tokens to generate")
      ->check(positive());
  parser.app().add_option("--beams", options.beams, "Number of beams")->check(positive());
  parser.app().add_option("--rounds", options.rounds, "Number of measured rounds")->check(positive());
  parser.app()
      .add_option("--pause", options.pause,
                  "Pause between rounds in milliseconds, in which threads fall asleep, as between a server's "
                  "requests")
      ->check(CLI::Range(0, 60000));
  parser.app()
      .add_option("--precision", precision, "With --work train: float32 or bfloat16, as in attend train")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  parser.app().add_flag("--json", json, "Print one JSON object");
  if (const auto status = parser.parse(argc, argv)) return *status;

  options.bfloat16 = precision == "bfloat16";
  const BenchResult result = attend::bench(options, training_work);
  if (json) {
    std::cout << Json{{"seconds_per_round", result.seconds_per_round},
                      {"items", result.items},
                      {"unit", result.unit}}
                     .dump()
              << "\n";
    return 0;
  }
  std::vector<double> sorted = result.seconds_per_round;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[sorted.size() / 2];
  std::cout << fmt::format("{:.1f} {}/s (median of {} rounds of {:.2f} ms)\n",
                           static_cast<double>(result.items) / median, result.unit, sorted.size(),
                           median * 1e3);
  return 0;
}

}  // namespace attend::cli
