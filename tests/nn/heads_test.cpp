// The loss of a head over the vocabulary: only rows with a label are computed.
#include "nn/transformer/heads.h"

#include "expect_error.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::int64_t kVocabulary = 23, kWidth = 6;

struct Head {
  Embeddings embeddings{nullptr};
  LanguageModelHead head{nullptr};

  Head(const EmbeddingSpec& embedding, const LanguageModelHeadSpec& spec, ScalarType type) {
    ops::manual_seed(2);
    embeddings = Embeddings(embedding);
    ops::convert(*embeddings, type);
    head = LanguageModelHead(spec, kWidth, embeddings);
    ops::convert(*head, type);
    Unrecorded no_grad;
    for (const Tensor& p : head->parameters()) p.copy_(ops::randn_like(p));
    for (const Tensor& p : embeddings->parameters()) p.copy_(ops::randn_like(p));
  }
  std::vector<Tensor> leaves(const Tensor& hidden) const {
    std::vector<Tensor> all{hidden};
    for (const Tensor& p : head->parameters()) all.push_back(p);
    for (const Tensor& p : embeddings->parameters()) all.push_back(p);
    return all;
  }
};

std::vector<Head> heads(ScalarType type) {
  const LanguageModelHeadSpec::Transform transform{Activation::gelu, {1e-5}};
  const EmbeddingSpec plain{.vocabulary = kVocabulary, .width = kWidth, .positions = {}, .norm = {}};
  std::vector<Head> all;
  all.emplace_back(plain, LanguageModelHeadSpec{.transform = transform, .bias = true}, type);
  all.emplace_back(plain, LanguageModelHeadSpec{.untied = true, .scale = 0.5}, type);
  for (const std::int64_t divisor : {1, 2}) {  // one table, and one for each cluster
    const ClusterSpec clusters{.ends = {9, 17, kVocabulary}, .divisor = divisor};
    EmbeddingSpec embedding = plain;
    embedding.width = 4;
    embedding.projected_width = kWidth;
    embedding.clusters = clusters;
    all.emplace_back(embedding, LanguageModelHeadSpec{.clusters = clusters}, type);
  }
  return all;
}

void expect_loss_of_all_scores(const std::vector<std::int64_t>& values, const LossOptions& options) {
  const Tensor labels = ops::tensor(values, kLong);
  for (const ScalarType type : {kFloat, kDouble})
    for (Head& h : heads(type)) {
      SCOPED_TRACE(fmt::format("{} labels [{}], smoothing {}", name_of(type), fmt::join(values, " "),
                               options.label_smoothing));
      const double tolerance = type == kFloat ? 1e-5 : 1e-11;
      const Tensor hidden = ops::randn({labels.numel(), kWidth}, type).set_needs_gradient();
      Pass pass = Pass::inference();
      const LossSum found = h.head->loss(hidden, labels, options, pass);
      const LossSum wanted = cross_entropy(h.head(hidden, pass), labels, options);
      EXPECT_EQ(found.count, wanted.count);
      EXPECT_NEAR(found.sum.item<double>(), wanted.sum.item<double>(),
                  tolerance * (1 + wanted.sum.item<double>()));
      const auto leaves = h.leaves(hidden);
      const auto gradients_of = [&](const Tensor& loss) {
        return ops::gradients({loss}, leaves, {}, {.may_be_unused = true});
      };
      const auto gradients = gradients_of(found.sum), expected = gradients_of(wanted.sum);
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        const auto or_zeros = [&](const Tensor& t) { return t.defined() ? t : ops::zeros_like(leaves[i]); };
        const Tensor one = or_zeros(gradients[i]), other = or_zeros(expected[i]);
        EXPECT_TRUE(ops::allclose(one, other, tolerance, tolerance * (1 + wanted.sum.item<double>()))) << i;
      }
    }
}

TEST(LanguageModelHead, ItsLossIsThatOfAllScores) {
  for (const double smoothing : {0.0, 0.1}) {
    const LossOptions options{.label_smoothing = smoothing};
    expect_loss_of_all_scores({3, 8, 9, 16, 17, 22, 0}, options);
    expect_loss_of_all_scores({-100, 8, -100, 16, -100, -100, 22, -100}, options);
    expect_loss_of_all_scores({-100, 12}, options);  // no labels in the first cluster and the last
    expect_loss_of_all_scores({-100, -100, -100}, options);
    expect_loss_of_all_scores({}, options);
  }
  expect_loss_of_all_scores({-100, 8, -100, 16, -100, 8, -100, 16}, {.label_smoothing = 0.1, .r_drop = 3});
}

TEST(LanguageModelHead, ReadingsOfOneBatchHaveTheSameLabels) {
  for (Head& h : heads(kFloat)) {
    const Tensor hidden = ops::randn({4, kWidth});
    Pass pass = Pass::inference();
    const auto loss = [&](std::vector<std::int64_t> labels) {
      h.head->loss(hidden, ops::tensor(labels, kLong), {.r_drop = 1}, pass);
    };
    EXPECT_ERROR("the halves of 4 labels differ", loss({-100, 5, 5, -100}))
        << "whose labels that count would be the same";
    EXPECT_ERROR("expected a label for each of 4 rows, found 3", loss({-100, 5, -100}));
    EXPECT_ERROR("label 23 is outside the vocabulary of 23 tokens", loss({0, kVocabulary, 0, kVocabulary}));
    loss({-100, 5, -100, 5});
  }
}

}  // namespace
}  // namespace attend
