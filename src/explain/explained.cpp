// The public face of explanations (attend/explain.h).
#include <attend/explain.h>

#include "explain/collect.h"
#include "explain/document.h"
#include "explain/page.h"
#include "explain/still.h"

namespace attend {

std::string Explained::page() const {
  std::string page;
  make_page(*data_, [&](std::string_view part) { page += part; });
  return page;
}

std::string Explained::json() const {
  return as_json(*data_).dump();
}

std::string Explained::picture(const StillOptions& options) const {
  return draw_still(*data_, options);
}

void Explained::write_tensors(const std::filesystem::path& path) const {
  attend::write_tensors(*data_, path);
}

std::vector<Explained::TokenScore> Explained::token_scores() const {
  std::vector<TokenScore> scores;
  for (const AttributedResult& result : data_->attributions)
    for (const Attribution& method : result.methods)
      for (std::size_t side = 0; side < method.scores.size(); ++side)
        for (std::size_t i = 0; i < method.scores[side].size(); ++i)
          scores.push_back({method.method, data_->sides[side].tokens[i].text, method.scores[side][i]});
  return scores;
}

Explained v1::explain(const ModelPath& model, const ExplainInput& input, const ExplainOptions& options) {
  return Explained(std::make_shared<const Explanation>(collect_explanation(model, input, options)));
}

}  // namespace attend
