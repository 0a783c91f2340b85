// Tokens for masked positions.
#include "pipelines/pipeline.h"

namespace attend {
namespace {

class FillMask : public Pipeline {
 public:
  Options parameters() override {
    return {option::integer("top_k", options_.top_k, 1, "Tokens for each mask, best first"),
            option::texts("targets", options_.targets, "Allow only these tokens")};
  }
  void load(const ModelPath& model) override { filler_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    static_cast<RunOptions&>(options_) = run;
    std::vector<Json> answers;
    for (const auto& masks : filler_->fill(texts_of(inputs), options_)) {
      Json all = Json::array();
      for (const auto& fillings : masks) {
        Json list = Json::array();
        for (const auto& [score, token, text, sequence] : fillings)
          list.push_back({{"score", score}, {"token", token}, {"token_str", text}, {"sequence", sequence}});
        all.push_back(std::move(list));
      }
      answers.push_back(all.size() == 1 ? all.front() : all);
    }
    return answers;
  }

 private:
  FillOptions options_;
  std::optional<MaskFiller> filler_;
};

}  // namespace

extern const PipelineKind fill_mask_pipeline;
const PipelineKind fill_mask_pipeline = {
    "fill-mask", "tokens for masked positions",
    "Predicts the mask tokens of texts; each text must contain one.",
    "attend run fill-mask bert-base-uncased \"Paris is the [MASK] of France.\" --targets capital,heart",
    make_pipeline<FillMask>};

}  // namespace attend
