#include <attend/inspect.h>

#include "base/file.h"
#include "formats/json/json.h"
#include "generation/models.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// JinaBERT's files have the model type of BERT.
TEST(ModelInfo, NamesTheArchitectureThatIsLoaded) {
  for (const auto& [model, architecture] : {std::pair{"jina-bert-model", "JinaBertModel"},
                                            {"jina-bert-masked-lm", "JinaBertForMaskedLM"},
                                            {"bert-model", "BertModel"}}) {
    const std::filesystem::path from = model_path(model);
    Json config = read_json(from / "config.json");
    EXPECT_EQ(inspect(from).architectures, std::vector<std::string>{architecture});
    const TemporaryDirectory directory;
    std::filesystem::copy_file(from / "model.safetensors", directory.path() / "model.safetensors");
    config.erase("architectures");
    directory.file("config.json", config.dump());
    const ModelInfo info = inspect(directory.path());
    EXPECT_EQ(info.architectures, std::vector<std::string>{architecture});
    EXPECT_FALSE(info.unusual.empty());
  }
}

TEST(ModelInfo, OfAnUnknownTypeHasNoArchitecture) {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(model_path("bert-model") / "model.safetensors",
                             directory.path() / "model.safetensors");
  for (const char* config : {R"({"model_type": "nonesuch"})", "{}"}) {
    directory.file("config.json", config);
    EXPECT_TRUE(inspect(directory.path()).architectures.empty());
  }
}

}  // namespace
}  // namespace attend
