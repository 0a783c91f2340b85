// Sentence embeddings (Reimers & Gurevych 2019, arXiv:1908.10084).
#include <attend/embedder.h>

#include "base/log.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/checkpoint/sentence_modules.h"
#include "models/families/head.h"
#include "models/padded/forward.h"
#include "nn/layers/pooling.h"
#include "tasks/texts/text_batches.h"
#include "tasks/vectors/embedded_texts.h"
#include "tokenizers/files/directory_facts.h"

namespace attend {
namespace {

// The architecture without a head, whose weights would only take time and memory.
std::string body_of(const ModelDirectory& directory) {
  const std::vector<std::string> named = directory.architectures();
  if (!named.empty() && has_head(named.front(), Head::body)) return named.front();
  return architecture_for(find_family(directory.config()), Head::body);
}

}  // namespace

struct Embedder::State {
  PretrainedModel model;
  EmbeddedTexts texts;
  std::unique_ptr<SentenceModules> modules;
  bool gives_types;

  State(const ModelDirectory& files, const EmbedderOptions& options)
      : model(PretrainedModel::load(files, {.architecture = body_of(files)})),
        texts(files, read_settings(files, options), stack()->max_positions()),
        modules(std::make_unique<SentenceModules>(texts.directory().modules, stack()->spec().width())),
        gives_types(takes_types(model) && tokenizers::gives_token_types(files.path())) {}

  SentenceDirectory read_settings(const ModelDirectory& files, const EmbedderOptions& options) const {
    if (model.network()->is_encoder_decoder() || model.network()->reads_images())
      fail("{}: expected one stack that reads text such as BERT, found {}", files.path().string(),
           files.model_type());
    SentenceDirectory directory = read_sentence_directory(files);
    if (!directory.makes_vectors())
      fail("{}: its modules make no vectors: {}", files.path().string(),
           directory.modules.front().kind == SentenceModule::Kind::splade
               ? "they weigh tokens (attend run sparse-vectors)"
               : "they score a query and a document (attend run rerank)");
    std::vector<SentencePooling::Mode>& modes = directory.modules.front().modes;
    if (options.pooling)
      modes = {read_pooling_mode(*options.pooling, "pooling")};
    else if (directory.assumed)
      inform("{}: it has no modules.json, so vectors are those of {} pooling, not normalized",
             files.path().string(), pooling_name(modes.front()));
    return directory;
  }

  Stack stack() const {
    Transformer network = model.network();
    return network->decoder ? network->decoder : network->encoder;
  }

  // XLNet's segment ids; all other tokenizers give 0 for a single text.
  bool has_segments() const {
    const auto& distance = stack()->spec().layers.front().self_attention.distance;
    return gives_types && distance && distance->segments;
  }

  std::vector<Encoding> encode(const std::vector<std::string>& given, const EmbedOptions& options) const {
    return texts.encode(given, options, has_segments());
  }

  // How many of a text's first tokens pooling leaves out.
  std::int64_t prompt_tokens(const EmbedOptions& options) const {
    return texts.directory().modules.front().include_prompt ? 0 : texts.prompt_tokens(options);
  }

  // Throws Error for a size to which vectors cannot be truncated.
  std::int64_t dimensions(const EmbedOptions& options) const {
    const std::int64_t size = modules->size();
    if (!options.dimensions) return std::min(size, texts.directory().dimensions.value_or(size));
    if (*options.dimensions < 1 || *options.dimensions > size)
      fail("dimensions: expected 1 to {}, which is the size of the model's vectors, found {}", size,
           *options.dimensions);
    return *options.dimensions;
  }

  // Whether vectors, also shortened ones, are scaled to length 1 after the modules.
  bool scales(const EmbedOptions& options) const {
    const bool shortens = options.dimensions && *options.dimensions < modules->size();
    return options.normalize.value_or(shortens && texts.directory().normalizes());
  }

  TokenBatch batch(const std::vector<Encoding>& encoded, std::span<const std::size_t> numbers) const {
    std::vector<std::vector<std::int64_t>> ids;
    std::vector<std::int64_t> types;
    for (const std::size_t i : numbers) {
      ids.emplace_back(encoded[i].ids.begin(), encoded[i].ids.end());
      if (has_segments()) types.insert(types.end(), encoded[i].type_ids.begin(), encoded[i].type_ids.end());
    }
    TokenBatch tokens = TokenBatch::from(ids);
    if (has_segments()) tokens.types = ops::tensor(types, kLong);
    // GPT's look types up among the tokens, so there type 0 differs from no type.
    if (gives_types && stack()->spec().embeddings.types_are_tokens)
      tokens.types = ops::zeros_like(tokens.ids);
    return tokens;
  }

  // The hidden states of these texts, [T, d]. Texts without tokens come last and are not passed to the model.
  Tensor hidden_states(Transformer network, const std::vector<Encoding>& encoded,
                       std::span<const std::size_t> numbers, std::optional<std::int64_t> adapter) const {
    while (!numbers.empty() && encoded[numbers.back()].ids.empty())
      numbers = numbers.first(numbers.size() - 1);
    if (numbers.empty()) return ops::zeros({0, stack()->spec().width()});
    Pass pass = Pass::inference();
    pass.adapters = choose_adapters({adapter});
    const TokenBatch tokens = batch(encoded, numbers);
    return network->decoder ? network->decode(tokens, pass) : network->encode(tokens, pass);
  }
};

Embedder::Embedder(const ModelPath& model, const EmbedderOptions& options)
    : state_(std::make_shared<State>(ModelDirectory(model), options)) {}

std::int64_t Embedder::size() const {
  return state_->dimensions({});
}

Similarity Embedder::similarity() const {
  return state_->texts.directory().similarity;
}

const std::map<std::string, std::string>& Embedder::prompts() const {
  return state_->texts.directory().prompts;
}

std::vector<std::size_t> Embedder::count_tokens(const std::vector<std::string>& texts,
                                                const EmbedOptions& options) const {
  std::vector<std::size_t> counts;
  for (const Encoding& encoding : state_->encode(texts, options)) counts.push_back(encoding.ids.size());
  return counts;
}

std::vector<std::vector<float>> Embedder::embed(const std::vector<std::string>& texts,
                                                const EmbedOptions& options) {
  Unrecorded inference;
  Transformer network = state_->model.with_adapter(options.adapter).network();
  const std::int64_t size = state_->dimensions(options);
  VectorOptions how{.prompt_tokens = state_->prompt_tokens(options),
                    .normalize = options.normalize.value_or(true)};
  std::vector<std::vector<float>> vectors(texts.size());
  const std::vector<Encoding> encoded = state_->encode(texts, options);
  std::vector<std::int64_t> lengths;
  for (const Encoding& encoding : encoded) lengths.push_back(std::ssize(encoding.ids));
  std::size_t done = 0;
  for (const std::vector<std::size_t>& batch : batches_by_length(lengths, options.batch_tokens)) {
    std::vector<std::int64_t> theirs;
    for (const std::size_t i : batch) theirs.push_back(lengths[i]);
    Tensor pooled = state_->modules->embed(state_->hidden_states(network, encoded, batch, options.adapter),
                                           Offsets(theirs), how);  // [B, size]
    pooled = pooled.narrow(1, 0, size);
    if (state_->scales(options)) pooled = to_unit_length(pooled);
    if (!pooled.isfinite().all().item<bool>())
      fail("the model gives numbers that are not finite: are its weights whole?");
    pooled = pooled.contiguous();
    const float* row = pooled.const_data<float>();
    for (std::size_t i : batch) {
      vectors[i].assign(row, row + size);
      row += size;
    }
    done += batch.size();
    if (options.on_progress) options.on_progress(done, texts.size());
  }
  return vectors;
}

}  // namespace attend
