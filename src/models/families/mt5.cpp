// mT5: Xue et al. 2020, arXiv:2010.11934: T5 v1.1 for a hundred languages. UMT5: Chung et al. 2023,
// arXiv:2304.09151: the same with relative positions in each layer. Checkpoints: google/mt5-*, google/umt5-*.
#include "models/families/t5.h"

namespace attend {
namespace {

constexpr T5Relative mt5_relative = {.vocabulary = 250112,
                                     .inner = 1024,
                                     .layers = 8,
                                     .heads = 6,
                                     .feed_forward = "gated-gelu",
                                     .tied = false};
constexpr T5Relative umt5_relative = [] {
  T5Relative relative = mt5_relative;
  relative.tied = T5Relative().tied;
  relative.layer_distances = true;
  return relative;
}();

template <const T5Relative& relative>
ModelSpec multilingual_spec(const Fields& config, std::string_view architecture) {
  return t5_model(config, architecture, relative);
}

// The sizes of mT5 and UMT5.
Json fresh_multilingual(std::string_view model_type, std::string_view architecture, std::string_view preset) {
  Json config = fresh_t5(preset == "small" ? "base" : preset);
  config.update({{"model_type", model_type},
                 {"architectures", {architecture}},
                 {"vocab_size", mt5_relative.vocabulary},
                 {"feed_forward_proj", mt5_relative.feed_forward},
                 {"tie_word_embeddings", false}});
  if (preset == "small")
    config.update(
        {{"d_model", 512}, {"d_ff", 1024}, {"num_layers", 8}, {"num_decoder_layers", 8}, {"num_heads", 6}});
  if (preset == "base") config["d_ff"] = 2048;
  if (preset == "tiny") config["d_ff"] = 512;
  return config;
}

}  // namespace

extern const Family mt5, umt5;
const Family mt5 =
    make_t5("mt5",
            {"MT5ForConditionalGeneration", "MT5Model", "MT5EncoderModel", "MT5ForSequenceClassification",
             "MT5ForTokenClassification", "MT5ForQuestionAnswering"},
            multilingual_spec<mt5_relative>, [](std::string_view preset) -> Json {
              return fresh_multilingual("mt5", "MT5ForConditionalGeneration", preset);
            });
const Family umt5 =
    make_t5("umt5",
            {"UMT5ForConditionalGeneration", "UMT5Model", "UMT5EncoderModel", "UMT5ForSequenceClassification",
             "UMT5ForTokenClassification", "UMT5ForQuestionAnswering"},
            multilingual_spec<umt5_relative>, [](std::string_view preset) -> Json {
              return fresh_multilingual("umt5", "UMT5ForConditionalGeneration", preset);
            });

}  // namespace attend
