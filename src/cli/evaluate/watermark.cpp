// attend evaluate watermark MODEL FILE...: the traces that a watermark leaves in every line.
#include <attend/tasks.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/evaluate/evaluation.h"
#include "cli/options/verb.h"

namespace attend::cli {
namespace {

class WatermarkEvaluation final : public Evaluation {
 public:
  void add_options(CLI::App& app, EvaluationInput&) override {
    app.add_option("--generation-config", generation_config_,
                   "A JSON file with a watermarking_config; default: the model's");
  }

  void run(const EvaluationInput& input) override {
    const WatermarkDetector detector = make_detector(input.model);
    for (const std::string& file : input.data) {
      const std::vector<std::string> lines = read_lines(file);
      if (lines.empty()) fail("{}: the file is empty", file);
      const std::vector<WatermarkFinding> found = detector.find(lines);
      for (std::size_t i = 0; i < lines.size(); ++i) print_finding(input, lines[i], found[i]);
    }
  }

 private:
  WatermarkDetector make_detector(const ModelPath& model) const {
    if (generation_config_.empty()) return WatermarkDetector(model);
    return naming_file(generation_config_, [&] {
      GenerationConfig config;
      config.apply(read_file(generation_config_));
      if (!config.watermark) fail("expected a watermarking_config, found none");
      return WatermarkDetector(model, config.watermark);
    });
  }

  static void print_finding(const EvaluationInput& input, const std::string& line,
                            const WatermarkFinding& finding) {
    const auto& [tokens, share, expected, z, p] = finding;
    print_figures(
        input,
        {{"text", line}, {"tokens", tokens}, {"share", share}, {"expected", expected}, {"z", z}, {"p", p}},
        fmt::format("z {:.2f}, p {:.2g}, {} tokens, {:.1f} % marked (other texts: {:.1f} %)", z, p, tokens,
                    100 * share, 100 * expected));
  }

  std::string generation_config_;
};

}  // namespace

EvaluationKind watermark_evaluation() {
  return {{"watermark"},
          "Whether lines carry the watermark of a watermarking_config: z is how many standard deviations the "
          "number "
          "of marked tokens is above that of unmarked texts, p the fraction of unmarked texts with such a z.",
          "attend evaluate watermark gpt2 letters.txt --generation-config marked.json",
          [](const std::string&) -> std::unique_ptr<Evaluation> {
            return std::make_unique<WatermarkEvaluation>();
          }};
}

}  // namespace attend::cli
