#include "sources/inspection.h"

#include "base/file.h"
#include "base/parallel.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Whether it is a mask or position table, which is computed and not trained: BERT's position_ids; the causal
// mask [1, 1, n, n] and masked_bias of GPT-2, GPT-Neo and GPT-J; rotary frequencies.
bool is_buffer(const std::string& name, const TensorView& tensor) {
  const auto& shape = tensor.shape;
  const bool mask =
      name.ends_with(".bias") && shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
  return !is_floating(tensor.type) || mask || name.ends_with(".masked_bias") || name.ends_with(".inv_freq");
}

// For a floating-point type with the bits of `Bits`: `infinity` and `huge` are the bit patterns of infinity
// and of 2^64 (which float16 does not have).
template <class Bits>
OddValues count_odd_values(std::span<const std::byte> data, Bits infinity, Bits huge) {
  constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  OddValues found;
  for (std::size_t at = 0; at < data.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, data.data() + at, sizeof bits);
    const Bits magnitude = bits & static_cast<Bits>(~sign);
    found.nan += magnitude > infinity;
    found.infinite += magnitude == infinity;
    found.huge += magnitude >= huge && magnitude < infinity;
  }
  return found;
}

// From tokenizer.json: the kind of its model, and the largest id + 1.
ModelInfo::TokenizerInfo read_tokenizer(const fs::path& path) {
  const Fields fields(read_json(path), path.string());
  const Fields model(fields.json().value("model", Json()), path.string() + ": model");
  ModelInfo::TokenizerInfo tokenizer = {
      model.text({"type"}, "of unknown kind"), path.filename().string(), {}};
  std::uint64_t vocabulary = 0;
  if (const auto vocab = model.json().find("vocab"); vocab != model.json().end()) vocabulary = vocab->size();
  if (const auto added = fields.json().find("added_tokens"); added != fields.json().end())
    for (const Json& token : *added) {
      const Fields entry(token, path.string() + ": added_tokens");
      vocabulary = std::max(vocabulary, static_cast<std::uint64_t>(entry.integer({"id"}, {}, 0)) + 1);
    }
  tokenizer.vocabulary = vocabulary;
  return tokenizer;
}

std::optional<ModelInfo::TokenizerInfo> find_tokenizer(const fs::path& directory) {
  const auto source = open_source(directory);
  if (const auto found = source->stored_tokenizer())
    return ModelInfo::TokenizerInfo{found->kind, directory.filename().string(), found->vocabulary};
  if (source->is_one_file()) return {};
  if (file_exists(directory / "tokenizer.json")) return read_tokenizer(directory / "tokenizer.json");
  constexpr std::pair<const char*, const char*> files[] = {
      {"source.spm", "SentencePiece"},      {"sentencepiece.bpe.model", "SentencePiece"},
      {"spiece.model", "SentencePiece"},    {"spm.model", "SentencePiece"},
      {"tokenizer.model", "SentencePiece"}, {"merges.txt", "BPE"},
      {"vocab.txt", "WordPiece"},
  };
  for (const auto& [file, kind] : files) {
    if (!file_exists(directory / file)) continue;
    ModelInfo::TokenizerInfo tokenizer = {kind, file, {}};
    // With a vocab.json, the ids are not those of the SentencePiece model (Marian, M2M-100).
    if (file_exists(directory / "vocab.json")) {
      tokenizer.vocabulary = read_json(directory / "vocab.json").size();
    } else if (tokenizer.kind == "WordPiece") {
      tokenizer.vocabulary = read_lines(directory / file).size();
    }
    return tokenizer;
  }
  return {};
}

void remark_on_files(Inspection& inspection, const fs::path& directory) {
  auto& unusual = inspection.unusual;
  if (file_exists(directory / "model.safetensors") && file_exists(directory / "model.safetensors.index.json"))
    unusual.push_back("model.safetensors is read; model.safetensors.index.json is not");
  if (file_exists(directory / "pytorch_model.bin") &&
      (file_exists(directory / "model.safetensors") ||
       file_exists(directory / "model.safetensors.index.json")))
    unusual.push_back("pytorch_model.bin is not read, because there is a model.safetensors");
  if (file_exists(directory / "adapter_config.json"))
    unusual.push_back("there is an adapter (adapter_config.json), which `adapter` applies");
  if (!inspection.tokenizer && !file_exists(directory / "preprocessor_config.json"))
    unusual.push_back("there is no tokenizer");
}

void remark_on_config(Inspection& inspection, const Fields& config, const WeightFiles& checkpoint) {
  auto& unusual = inspection.unusual;
  if (inspection.model_type.empty()) unusual.push_back("config.json has no model_type");
  if (inspection.architectures.empty()) unusual.push_back("config.json names no architecture");
  if (config.has({"auto_map"})) unusual.push_back("config.json requires its own Python code (auto_map)");
  if (config.has({"quantization_config"}))
    unusual.push_back("the weights are quantized (quantization_config)");

  const auto vocabulary = config.maybe_integer({"vocab_size"});
  if (!vocabulary) return;
  const auto has_rows = [&](const auto& entry) {
    return !entry.second.shape.empty() && entry.second.shape[0] == *vocabulary;
  };
  if (std::ranges::none_of(checkpoint.tensors(), has_rows))
    unusual.push_back(fmt::format("no tensor has vocab_size ({}) rows", *vocabulary));
  if (inspection.tokenizer &&
      inspection.tokenizer->vocabulary.value_or(0) > static_cast<std::uint64_t>(*vocabulary))
    unusual.push_back(fmt::format("the tokenizer has {} tokens, more than vocab_size ({})",
                                  *inspection.tokenizer->vocabulary, *vocabulary));
}

void remark_on_tensors(Inspection& inspection, const Fields& config, const WeightFiles& checkpoint) {
  auto& unusual = inspection.unusual;
  std::map<std::string_view, std::size_t> floating;  // tensors by type, without buffers
  bool coded = false;
  for (const auto& [tensor_name, tensor] : checkpoint.tensors()) {
    if (!is_buffer(tensor_name, tensor)) ++floating[tensor.stored_as()];
    coded = coded || tensor.code;
    if (tensor.data.empty()) unusual.push_back(fmt::format("tensor {} is empty", shown(tensor_name)));
  }
  if (floating.empty()) unusual.push_back("there are no weights in the files");
  if (floating.size() > 1 && !coded) {  // norms of another type are normal next to quantized matrices
    std::vector<std::string> parts;
    for (const auto& [type, count] : floating) parts.push_back(fmt::format("{} {}", count, type));
    unusual.push_back(fmt::format("the tensors are of mixed types: {}", fmt::join(parts, ", ")));
  }
  const std::map<std::string_view, std::string_view> types = {
      {"float64", "F64"}, {"float32", "F32"}, {"float16", "F16"}, {"bfloat16", "BF16"}};
  const std::string named = config.text({"dtype", "torch_dtype"}, "");
  if (const auto type = types.find(named);
      type != types.end() && floating.size() == 1 && floating.begin()->first != type->second)
    unusual.push_back(fmt::format("config.json says {}, the tensors are {}", named, floating.begin()->first));
}

void remark_on_values(Inspection& inspection, const WeightFiles& checkpoint) {
  std::vector<std::pair<std::string_view, const TensorView*>> tensors;
  for (const auto& [tensor_name, tensor] : checkpoint.tensors()) tensors.emplace_back(tensor_name, &tensor);
  std::vector<OddValues> found(tensors.size());
  parallel_for(tensors.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) found[i] = count_odd_values(*tensors[i].second);
  });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [tensor_name, tensor] = tensors[i];
    const auto [nan, infinite, huge] = found[i];
    if (nan + infinite > 0)
      inspection.unusual.push_back(
          fmt::format("tensor {} holds {} NaN and {} infinite values", shown(tensor_name), nan, infinite));
    if (huge > 0 && !is_buffer(std::string(tensor_name), *tensor))
      inspection.unusual.push_back(
          fmt::format("tensor {} holds {} values of 1.8e19 or more, whose squares overflow: the model's "
                      "results may be NaN",
                      shown(tensor_name), huge));
  }
}

}  // namespace

OddValues count_odd_values(const TensorView& tensor) {
  constexpr std::uint32_t kInfinity = 0x7F800000, kHuge = 0x5F800000;
  if (tensor.code) {
    std::vector<float> numbers(tensor.count());
    tensor.code->decode(numbers);
    return count_odd_values<std::uint32_t>(std::as_bytes(std::span(numbers)), kInfinity, kHuge);
  }
  switch (tensor.type) {
    case DType::f64:
      return count_odd_values<std::uint64_t>(tensor.data, 0x7FF0000000000000, 0x43F0000000000000);
    case DType::f32:
      return count_odd_values<std::uint32_t>(tensor.data, kInfinity, kHuge);
    case DType::f16:
      return count_odd_values<std::uint16_t>(tensor.data, 0x7C00, 0x7C00);
    case DType::bf16:
      return count_odd_values<std::uint16_t>(tensor.data, 0x7F80, 0x5F80);
    default:
      return {};
  }
}

Inspection inspect_model(const ModelDirectory& directory, const WeightFiles& checkpoint, bool check_values) {
  Inspection inspection;
  const Fields& config = directory.config();
  inspection.model_type = config.text({"model_type"}, "");
  inspection.architectures = directory.architectures();
  for (const auto& [tensor_name, tensor] : checkpoint.tensors()) {
    auto& totals = inspection.types[std::string(tensor.stored_as())];
    totals.tensors += 1;
    totals.values += tensor.count();
    totals.bytes += tensor.data.size();
    (is_buffer(tensor_name, tensor) ? inspection.buffers : inspection.parameters) += tensor.count();
  }
  for (const TensorFile& file : checkpoint.files())
    inspection.files.push_back({file.path().filename().string(), file.mapping().bytes().size()});
  inspection.tokenizer = find_tokenizer(directory.path());
  SentenceDirectory sentences = read_sentence_directory(directory);
  const bool reads_text = inspection.tokenizer && !config.flag({"is_encoder_decoder"}, false);
  if (!sentences.assumed || reads_text) inspection.sentences = std::move(sentences);
  inspection.generation = directory.generation_config();

  remark_on_config(inspection, config, checkpoint);
  remark_on_files(inspection, directory.path());
  remark_on_tensors(inspection, config, checkpoint);
  if (check_values) remark_on_values(inspection, checkpoint);
  return inspection;
}

}  // namespace attend
