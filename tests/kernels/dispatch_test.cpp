// Which set of kernels a machine uses.
#include "kernels/instruction_sets.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace attend::kernels {
namespace {

const std::set<std::string, std::less<>> kAll = {"avx2",     "fma",      "f16c",     "avx512f",
                                                 "avx512bw", "avx512dq", "avx512vl", "avx512bf16"};

bool runs_without(std::string_view set, std::string_view missing) {
  return runs_with(set,
                   [&](std::string_view feature) { return feature != missing && kAll.contains(feature); });
}

TEST(InstructionSets, NeedEveryFeatureTheyAreCompiledFor) {
  for (const char* set : {"portable", "avx2", "avx512", "avx512_bf16"})
    EXPECT_TRUE(runs_without(set, "")) << set;
  EXPECT_FALSE(runs_without("avx1024", ""));
  for (const std::string& feature : kAll) {
    EXPECT_TRUE(runs_without("portable", feature));
    EXPECT_FALSE(runs_without("avx512_bf16", feature)) << feature;
    EXPECT_EQ(runs_without("avx512", feature), feature == "avx512bf16") << feature;
    // Some hypervisors hide f16c but show avx2.
    EXPECT_EQ(runs_without("avx2", feature), feature.starts_with("avx512")) << feature;
  }
}

}  // namespace
}  // namespace attend::kernels
