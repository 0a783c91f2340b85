// Sentence embeddings (Reimers & Gurevych 2019, arXiv:1908.10084).
#include <attend/attend.h>

#include "base/log.h"
#include "models/forward.h"
#include "models/head.h"
#include "models/pretrained_model.h"
#include "models/sentence_modules.h"
#include "nn/pooling.h"
#include "tasks/text_batches.h"
#include "tokenizers/files/directory_facts.h"

#include <limits>
#include <set>

namespace attend {
namespace {

// The architecture without a head, whose weights would only take time and memory.
std::string body_of(const ModelDirectory& directory) {
  const std::vector<std::string> named = directory.architectures();
  if (!named.empty() && has_head(named.front(), Head::body)) return named.front();
  return architecture_for(find_family(directory.model_type()), Head::body);
}

}  // namespace

struct Embedder::State {
  PretrainedModel model;
  Tokenizer tokenizer;
  SentenceDirectory directory;
  std::unique_ptr<SentenceModules> modules;
  bool gives_types;
  std::size_t max_length;         // tokens of a text
  std::set<TokenId> special_ids;  // used when pooling leaves prompts out

  State(const ModelDirectory& files, const EmbedderOptions& options)
      : model(PretrainedModel::load(files, {.architecture = body_of(files)})),
        tokenizer(Tokenizer::from_file(files.path())),
        directory(read_sentence_directory(files)),
        gives_types(takes_types(model) && tokenizers::gives_token_types(files.path())) {
    if (model.network()->is_encoder_decoder() || model.network()->reads_images())
      fail("{}: expected one stack that reads text such as BERT, found {}", files.path().string(),
           files.model_type());
    std::vector<SentencePooling::Mode>& modes = directory.modules.front().modes;
    if (options.pooling)
      modes = {read_pooling_mode(*options.pooling, "pooling")};
    else if (directory.assumed)
      inform("{}: it has no modules.json, so vectors are those of {} pooling, not normalized",
             files.path().string(), pooling_name(modes.front()));
    modules = std::make_unique<SentenceModules>(directory.modules, stack()->spec().width());
    prepare_tokenizer(files);
  }

  void prepare_tokenizer(const ModelDirectory& files) {
    const std::int64_t positions = stack()->max_positions();
    max_length =
        static_cast<std::size_t>(std::min(positions, directory.texts.max_length.value_or(positions)));
    // Overrides the tokenizer file's settings except the side, as sentence-transformers does.
    const bool left =
        tokenizers::truncation_side(files.path()) == Truncation::Direction::left ||
        (tokenizer.truncation() && tokenizer.truncation()->direction == Truncation::Direction::left);
    tokenizer.truncation() =
        Truncation{.direction = left ? Truncation::Direction::left : Truncation::Direction::right,
                   .max_length = max_length};
    tokenizer.padding().reset();
    if (directory.texts.lowercase) tokenizer.lower_case();
    if (directory.modules.front().include_prompt) return;
    for (const char* role :
         {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
      if (const auto id = tokenizers::special_token(tokenizer, files.path(), role)) special_ids.insert(*id);
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

  const std::string& prompt(const EmbedOptions& options) const {
    if (options.prompt) return *options.prompt;
    if (!options.prompt_name && options.role == TextRole::any) return directory.texts.prompt;
    const std::string name =
        options.prompt_name.value_or(options.role == TextRole::query ? "query" : "document");
    const auto found = directory.prompts.find(name);
    if (found == directory.prompts.end()) {
      std::vector<std::string> names;
      for (const auto& [each, text] : directory.prompts) names.push_back(each);
      fail("prompt_name: the model has no prompt {}; it has {}", shown(Json(name)), fmt::join(names, ", "));
    }
    return found->second;
  }

  std::vector<Encoding> encode(const std::vector<std::string>& texts, const EmbedOptions& options) const {
    EncodeOptions how{.with_details = false, .with_types = has_segments()};
    if (!options.truncate)
      how.truncation = Truncation{.max_length = std::numeric_limits<std::uint32_t>::max()};
    std::vector<Encoding> all;
    if (const std::string& before = prompt(options); before.empty()) {
      all = tokenizer.encode_batch(texts, how);
    } else {
      std::vector<std::string> whole;
      for (const std::string& text : texts) whole.push_back(before + text);
      all = tokenizer.encode_batch(whole, how);
    }
    const ErrorScope scope(ErrorKind::input);
    for (std::size_t i = 0; i < all.size() && !options.truncate; ++i)
      if (all[i].ids.size() > max_length)
        fail("text {} has {} tokens, and the model reads {}: shorten it, or let it be truncated", i + 1,
             all[i].ids.size(), max_length);
    return all;
  }

  // For each text the number of prompt tokens, without the special token at the end.
  std::int64_t prompt_tokens(const EmbedOptions& options) const {
    const std::string& text = prompt(options);
    if (text.empty() || directory.modules.front().include_prompt) return 0;
    const Encoding encoding = tokenizer.encode(text);
    const std::int64_t count = std::ssize(encoding.ids);
    const bool ends =
        count > 0 && (encoding.special_tokens_mask.back() == 1 || special_ids.contains(encoding.ids.back()));
    return ends ? count - 1 : count;
  }

  // Throws Error for a size to which vectors cannot be truncated.
  std::int64_t dimensions(const EmbedOptions& options) const {
    const std::int64_t size = modules->size();
    if (!options.dimensions) return std::min(size, directory.dimensions.value_or(size));
    if (*options.dimensions < 1 || *options.dimensions > size)
      fail("dimensions: expected 1 to {}, which is the size of the model's vectors, found {}", size,
           *options.dimensions);
    return *options.dimensions;
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
  return state_->directory.similarity;
}

const std::map<std::string, std::string>& Embedder::prompts() const {
  return state_->directory.prompts;
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
    if (options.normalize == true) pooled = to_unit_length(pooled);
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
