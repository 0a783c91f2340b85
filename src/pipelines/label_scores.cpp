#include "pipelines/label_scores.h"

namespace attend {

Json label_list(const std::vector<LabelScore>& labels) {
  Json list = Json::array();
  for (const auto& [label, score] : labels) list.push_back({{"label", label}, {"score", score}});
  return list;
}

Option function_parameter(ScoreFunction& function) {
  return option::choice("function_to_apply", function,
                        {{"default", ScoreFunction::by_model},
                         {"softmax", ScoreFunction::softmax},
                         {"sigmoid", ScoreFunction::sigmoid},
                         {"none", ScoreFunction::none}},
                        "Function that turns logits into scores");
}

}  // namespace attend
