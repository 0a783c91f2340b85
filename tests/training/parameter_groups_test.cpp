#include "training/optimizers/parameter_groups.h"

#include "expect_error.h"
#include "models/checkpoint/pretrained_model.h"
#include "tensor_checks.h"

#include <map>

#include <gtest/gtest.h>

namespace attend {
namespace {

NamedTensors tensors_of(const char* family, const Json& settings) {
  Json config = find_family(family).fresh_config(find_family(family).presets.front());
  for (const auto& [field, value] : settings.items()) config[field] = value;
  return named_parameters(*PretrainedModel::fresh(Fields(config, "config.json"), 1).network());
}

// Three layers and a classifier.
NamedTensors classifier() {
  return tensors_of("bert", {{"architectures", {"BertForSequenceClassification"}},
                             {"vocab_size", 20},
                             {"hidden_size", 8},
                             {"num_attention_heads", 2},
                             {"num_hidden_layers", 3},
                             {"intermediate_size", 16},
                             {"max_position_embeddings", 10}});
}

std::map<std::string, Parameter> by_name(const std::vector<Parameter>& parameters) {
  std::map<std::string, Parameter> found;
  for (const Parameter& p : parameters) found.emplace(p.name, p);
  return found;
}

TEST(ParameterGroups, AreAllOfANetworkAtOneRateUnlessAskedOtherwise) {
  const NamedTensors all = classifier();
  const std::vector<Parameter> parameters = parameter_groups(all);
  ASSERT_EQ(parameters.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(parameters[i].name, all[i].first);
    EXPECT_TRUE(parameters[i].weight.is_same(all[i].second));
    EXPECT_EQ(parameters[i].rate, 1);
    EXPECT_EQ(parameters[i].decays, all[i].second.dim() > 1);
  }
}

TEST(ParameterGroups, HiddenMatricesAreThoseOfLayers) {
  const auto found = by_name(parameter_groups(classifier()));
  const Parameter& packed = found.at("encoder.layers.0.self_attention.query_key_value.weight");
  EXPECT_TRUE(packed.hidden_matrix);
  EXPECT_EQ(packed.parts, 3);
  EXPECT_TRUE(found.at("encoder.layers.2.feed_forward.in.weight").hidden_matrix);
  EXPECT_EQ(found.at("encoder.layers.2.feed_forward.in.weight").parts, 1);
  for (const char* other :
       {"encoder.embeddings.tokens", "encoder.embeddings.positions", "score_head.out.weight",
        "pooler.dense.weight", "encoder.layers.0.self_attention.query_key_value.bias",
        "encoder.layers.1.self_attention_norm.weight"})
    EXPECT_FALSE(found.at(other).hidden_matrix) << other;

  const Json tiny = {{"vocab_size", 20},
                     {"d_model", 8},
                     {"d_kv", 4},
                     {"num_heads", 2},
                     {"d_ff", 12},
                     {"num_layers", 2},
                     {"num_decoder_layers", 3},
                     {"feed_forward_proj", "gated-gelu"}};
  const auto t5 = by_name(parameter_groups(tensors_of("t5", tiny)));
  EXPECT_EQ(t5.at("encoder.layers.0.feed_forward.in.weight").parts, 2) << "gated";
  EXPECT_EQ(t5.at("decoder.layers.0.cross_attention.key_value.weight").parts, 2);
  EXPECT_FALSE(t5.at("encoder.distances.table").hidden_matrix);
  EXPECT_EQ(found.at("encoder.layers.0.self_attention.query_key_value.bias").parts, 3) << "biases too";
}

TEST(ParameterGroups, LowerLayersLearnMoreSlowly) {
  const auto found = by_name(parameter_groups(classifier(), {.layer_decay = 0.5, .head_rate = 10}));
  EXPECT_EQ(found.at("encoder.embeddings.tokens").rate, 0.0625);
  EXPECT_EQ(found.at("encoder.embeddings.norm.weight").rate, 0.0625);
  EXPECT_EQ(found.at("encoder.layers.0.feed_forward.in.bias").rate, 0.125);
  EXPECT_EQ(found.at("encoder.layers.2.feed_forward.in.bias").rate, 0.5);
  EXPECT_EQ(found.at("pooler.dense.weight").rate, 1);
  EXPECT_EQ(found.at("score_head.out.weight").rate, 10);
  EXPECT_EQ(found.at("score_head.out.bias").rate, 10);
}

// The names that remain trainable.
std::set<std::string> left(const NamedTensors& tensors, const std::vector<std::string>& frozen) {
  std::set<std::string> names;
  for (const Parameter& p : parameter_groups(tensors, {.frozen = frozen})) names.insert(p.name);
  for (const auto& [name, tensor] : tensors) EXPECT_EQ(tensor.needs_gradient(), names.contains(name)) << name;
  return names;
}

std::set<std::string> names_of(const NamedTensors& tensors, const std::function<bool(std::string)>& chosen) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors)
    if (chosen(name)) names.insert(name);
  return names;
}

TEST(ParameterGroups, FreezeByWordsRangesAndExpressions) {
  const NamedTensors all = classifier();
  const auto but = [&](std::vector<std::string> beginnings) {
    return names_of(all, [&](const std::string& name) {
      return std::none_of(beginnings.begin(), beginnings.end(),
                          [&](const std::string& beginning) { return name.starts_with(beginning); });
    });
  };
  EXPECT_EQ(left(classifier(), {"embeddings"}), but({"encoder.embeddings."}));
  EXPECT_EQ(left(classifier(), {"encoder"}), but({"encoder."}));
  EXPECT_EQ(left(classifier(), {"all-but-head"}), but({"encoder.", "pooler."}));
  EXPECT_EQ(left(classifier(), {"layers.0-1"}), but({"encoder.layers.0.", "encoder.layers.1."}));
  EXPECT_EQ(left(classifier(), {"encoder.layers.2", "embeddings"}),
            but({"encoder.layers.2.", "encoder.embeddings."}));
  EXPECT_EQ(left(classifier(), {"encoder\\.embeddings\\..*|pooler.*"}),
            but({"encoder.embeddings.", "pooler."}));
  EXPECT_EQ(left(classifier(), {".*bias"}),
            names_of(all, [](const std::string& name) { return !name.ends_with("bias"); }));
}

TEST(ParameterGroups, NamesMayHaveSomethingBeforeThem) {
  NamedTensors pair;
  for (const std::string which : {"generator.", "discriminator."})
    for (const auto& [name, tensor] : classifier()) pair.emplace_back(which + name, tensor);
  const auto found = by_name(parameter_groups(pair, {.frozen = {"layers.0"}, .layer_decay = 0.5}));
  EXPECT_EQ(found.at("discriminator.encoder.embeddings.tokens").rate, 0.0625);
  EXPECT_FALSE(found.contains("generator.encoder.layers.0.feed_forward.in.weight"));
  EXPECT_TRUE(found.contains("generator.encoder.layers.1.feed_forward.in.weight"));
}

TEST(ParameterGroups, RefuseWhatMatchesNothing) {
  const std::string layers = ": expected layers from 0 to ", none = "it matches none of";
  const std::pair<const char*, std::string> cases[] = {
      {"decoder", none},
      {"layers.0-3", layers + "2"},
      {"layers.2-1", layers + "2"},
      {"decoder.layers.0", layers + "-1"},
      {"embedding", none},
      {"", none},
      {"encoder.layers", none},
      {"(", "is not a regular expression"},
      {"layers.99999999999999999999", none},
      {"self_attention", none},
  };
  for (const auto& each : cases)
    EXPECT_ERROR(each.second, parameter_groups(classifier(), {.frozen = {each.first}})) << each.first;
  EXPECT_ERROR("nothing is left to train", parameter_groups(classifier(), {.frozen = {".*"}}))
      << "nothing is left";
  for (const double wrong : {0.0, 1.5, -1.0, double{NAN}}) {
    EXPECT_ERROR("`layer_decay`: expected a number", parameter_groups(classifier(), {.layer_decay = wrong}))
        << wrong;
  }
  for (const double wrong : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    EXPECT_ERROR("`head_rate`: expected a number", parameter_groups(classifier(), {.head_rate = wrong}))
        << wrong;
  }
}

}  // namespace
}  // namespace attend
