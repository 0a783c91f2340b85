#include "models/weights/weight_names.h"

#include "base/error.h"
#include "expect_error.h"
#include "models/families/family.h"
#include "nn/transformer/transformer.h"

#include <set>

#include <gtest/gtest.h>

namespace attend {
namespace {

const std::vector<WeightName> kTable = {
    {"model.{left|right}.layer.{i}.self.{query|key}.{weight|bias}",
     "{left|right}.layers.{i}.packed.{weight|bias}"},
    {"model.out.weight", "out.weight", WeightLayout::transposed},
};

TEST(WeightNames, FillsGroupsThatStandOnBothSidesAndPacksTheOthers) {
  const WeightSource source = find_source(kTable, "right.layers.12.packed.bias");
  EXPECT_EQ(source.names, (std::vector<std::string>{"model.right.layer.12.self.query.bias",
                                                    "model.right.layer.12.self.key.bias"}));
  EXPECT_EQ(find_source(kTable, "out.weight").layout, WeightLayout::transposed);
}

TEST(WeightNames, AParameterWithoutARowIsAnError) {
  EXPECT_ERROR("no row of the weight table names left.layers.x.packed.bias",
               find_source(kTable, "left.layers.x.packed.bias"));
  EXPECT_ERROR("no row of the weight table names out.bias", find_source(kTable, "out.bias"));
}

TEST(WeightNames, MatchesWholeNamesOnly) {
  EXPECT_TRUE(matches("a.{i}.{weight|bias}", "a.3.bias"));
  EXPECT_FALSE(matches("a.{i}.{weight|bias}", "a.3.bias.more"));
  EXPECT_FALSE(matches("a.{i}.{weight|bias}", "a..bias"));
}

// Checks every table in both directions: each parameter of each architecture has names, no two share one, and
// the row of a name matches it.
TEST(WeightNames, TheTablesOfAllFamiliesAreWhole) {
  for (const Family* family : families()) {
    Json config = family->fresh_config(family->presets.front());
    for (std::string_view architecture : family->architectures) {
      // Fields that BERT's relatives need for causal attention.
      config["is_decoder"] = architecture.ends_with("LMHeadModel") || architecture.ends_with("ForCausalLM");
      const ModelSpec spec = family->spec(Fields(config, "config.json"), architecture);
      const std::vector<WeightName> table = family->weights(spec);
      Transformer network(spec);
      std::set<std::string> seen;
      for (const auto& item : network->named_parameters()) {
        const WeightSource source = find_source(table, item.key());
        for (const std::string& name : source.names) {
          EXPECT_TRUE(seen.insert(name).second)
              << family->model_type << ": " << name << " stands for two parameters";
          EXPECT_TRUE(std::ranges::any_of(
              table, [&](const WeightName& row) { return matches(row.checkpoint, name); }));
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
