#include "models/derived/gguf_export.h"

#include "base/error.h"
#include "nn/spec/rotary_frequencies.h"
#include "sources/gguf/gguf_architectures.h"
#include "sources/gguf/gguf_encode.h"
#include "sources/gguf/gguf_rows.h"
#include "sources/gguf/gguf_writer.h"
#include "tokenizers/files/gguf_vocabulary.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace attend {
namespace {

// Values of general.file_type.
struct FileType {
  std::string_view name, block;
  std::uint32_t number;
};
constexpr FileType file_types[] = {
    {"f32", "F32", 0}, {"f16", "F16", 1}, {"q8_0", "Q8_0", 7}, {"q4_0", "Q4_0", 2}, {"q4_k_m", "Q4_K", 15}};

// The layers whose values and second feed-forward matrices have 6 bits in a q4_k_m file, as llama.cpp chooses
// them: the first and the last eighth, and a third of the others.
bool has_more_bits(std::int64_t layer, std::int64_t layers) {
  const std::int64_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

class Export {
 public:
  Export(const PretrainedModel& model, const FileType& type)
      : model_(model),
        type_(type),
        architecture_(architecture_of(model)),
        stack_(*model.network()->spec().decoder),
        layer_(stack_.layers.front()),
        attention_(layer_.self_attention) {}

  void write(const std::filesystem::path& directory, const std::filesystem::path& file) {
    writer_.add("general.architecture", architecture_.name);
    writer_.add("general.type", "model");
    writer_.add("general.file_type", type_.number);
    writer_.add("general.quantization_version", std::uint32_t{2});
    check();
    add_sizes();
    add_rotary();
    add_further();
    tokenizers::write_gguf_vocabulary(directory, stack_.embeddings.vocabulary, writer_);
    add_tensors();
    writer_.write(file);
  }

 private:
  static const GgufArchitecture& architecture_of(const PretrainedModel& model) {
    static const std::vector<GgufArchitecture> all = gguf_decoders();
    std::string family(model.family().model_type);
    if (family == "mistral") family = "llama";
    const auto found = std::ranges::find_if(all, [&](const GgufArchitecture& each) {
      return each.model_type == family && model.architecture().ends_with("ForCausalLM");
    });
    if (found != all.end()) return *found;
    std::string known;
    for (const GgufArchitecture& each : all)
      known += (known.empty() ? "" : ", ") + std::string(each.model_type);
    fail("{}: expected a language model of one of the families {}, to write a GGUF file; found {} ({})",
         model.source(), known, model.architecture(), model.family().model_type);
  }

  [[noreturn]] void refuse(std::string_view what) const {
    fail("{0}: a GGUF file of architecture {2} cannot express {1}", model_.source(), what,
         architecture_.name);
  }

  // Checks what llama.cpp assumes.
  void check() const {
    const auto scale = [&](std::int64_t size) { return 1 / std::sqrt(static_cast<double>(size)); };
    const bool free = architecture_.name == "granite";
    const bool largest = (architecture_.name == "gemma2" && stack_.layers.size() == 46) ||
                         (architecture_.name == "gemma3" && stack_.layers.size() == 62);
    const std::int64_t size = largest ? stack_.embeddings.width / attention_.heads : attention_.head_size;
    if (!free && std::abs(attention_.scale / scale(size) - 1) > 1e-6) refuse("its scale of attention scores");
    for (std::size_t i = 0; i < stack_.layers.size(); ++i) {
      const AttentionSpec& attention = stack_.layers[i].self_attention;
      if (attention.causal != true) refuse("attention in both directions");
      if ((attention.window > 0) != slides(i)) refuse("which layers have a window");
      if (attention.rotary.has_value() != (architecture_.name != "smollm3" || (i + 1) % 4 != 0))
        refuse("which layers have rotary positions");
    }
  }

  // Whether a layer has a window in llama.cpp.
  bool slides(std::size_t layer) const {
    if (architecture_.name == "phi3") return window() > 0;
    if (architecture_.name == "gemma2") return layer % 2 == 0;
    return architecture_.name == "gemma3" && (layer + 1) % 6 != 0;
  }

  std::int64_t window() const {
    std::int64_t max = 0;
    for (const LayerSpec& layer : stack_.layers) max = std::max(max, layer.self_attention.window);
    return max;
  }

  void add(std::string_view name, std::int64_t number) {
    writer_.add(architecture_.key(name), static_cast<std::uint32_t>(number));
  }
  void add(std::string_view name, double number) {
    writer_.add(architecture_.key(name), static_cast<float>(number));
  }

  void add_sizes() {
    add("context_length", model_.config().integer({"max_position_embeddings"}, 2048));
    add("block_count", static_cast<std::int64_t>(stack_.layers.size()));
    add("embedding_length", stack_.embeddings.width);
    add("feed_forward_length", layer_.feed_forward.width);
    add("attention.head_count", attention_.heads);
    add("attention.head_count_kv", attention_.heads_of_keys());
    add("attention.key_length", attention_.head_size);
    add("attention.value_length", attention_.head_size);
    add(layer_.norm.root_mean_square ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
        layer_.norm.epsilon);
    add("vocab_size", stack_.embeddings.vocabulary);
  }

  // The numbers by which the frequencies are divided.
  std::vector<float> divisors(const std::vector<float>& frequencies) const {
    std::vector<float> unscaled = rotary_frequencies(base_, rotary().size);
    for (std::size_t i = 0; i < unscaled.size(); ++i) unscaled[i] /= frequencies[i];
    return unscaled;
  }

  const RotarySpec& rotary() const { return stack_.rotaries.front(); }

  // From config.json, in either of its spellings; else the family's base, derived from the lowest frequency.
  void find_base() {
    Json fields = model_.config().json();
    for (const char* name : {"rope_parameters", "full_attention"})
      if (const auto inner = fields.find(name); inner != fields.end() && inner->is_object())
        if (Json next = *inner; next.contains("rope_theta") || next.contains("full_attention")) fields = next;
    const double size = static_cast<double>(rotary().size);
    const double found = std::pow(static_cast<double>(rotary().frequencies.back()), -size / (size - 2));
    base_ = Fields(fields, model_.source()).number({"rope_theta", "rotary_emb_base"}, std::round(found));
  }

  void add_rotary() {
    find_base();
    add("rope.dimension_count", rotary().size);
    add("rope.freq_base", base_);
    if (rotary().growing) refuse("dynamic rotary scaling");
    const Json& json = model_.config().json();
    const Fields scaling(
        json.value("rope_scaling", Json()).is_object() ? json.at("rope_scaling") : Json::object(),
        model_.source());
    const std::string kind = scaling.text({"rope_type", "type"}, "default");
    if (kind == "linear" || kind == "yarn") {
      writer_.add(architecture_.key("rope.scaling.type"), kind);
      add("rope.scaling.factor", scaling.number({"factor"}));
    }
    if (kind == "yarn")
      add("rope.scaling.original_context_length",
          scaling.integer({"original_max_position_embeddings"},
                          model_.config().integer({"max_position_embeddings"}, 2048)));
    if (architecture_.name == "phi3" && !rotary().long_frequencies.empty()) {
      add("rope.scaling.original_context_length", rotary().short_length);
      add("rope.scaling.attn_factor", rotary().factor);
      add_numbers("rope_factors_long.weight", divisors(rotary().long_frequencies));
      add_numbers("rope_factors_short.weight", divisors(rotary().frequencies));
    } else if (kind == "llama3" || kind == "longrope") {
      if (!rotary().long_frequencies.empty() && rotary().long_frequencies != rotary().frequencies)
        refuse("longrope");
      add_numbers("rope_freqs.weight", divisors(rotary().frequencies));
    } else if (kind == "default" && json.value("rope_parameters", Json()).is_object() &&
               divisors(rotary().frequencies).back() != 1) {
      refuse("scaling in rope_parameters");
    }
  }

  // Fields that only some families have.
  void add_further() {
    const auto& head = model_.network()->spec().language_model_head;
    const std::pair<const char*, double> numbers[] = {
        {"logit_scale", architecture_.name == "granite" ? 1 / head->scale : head->scale},
        {"attn_logit_softcapping", attention_.soft_cap},
        {"final_logit_softcapping", head->soft_cap},
        {"embedding_scale", stack_.embeddings.scale},
        {"residual_scale", layer_.result_scale},
        {"attention.scale", attention_.scale},
        {"rope.freq_base_swa", model_.config().number({"rope_local_base_freq"}, 10000)}};
    for (const GgufField& field : architecture_.fields) {
      const std::string_view key = field.keys.front();
      if (key == "attention.sliding_window") add(key, window());
      if (key == "use_parallel_residual")
        writer_.add(architecture_.key(key), layer_.order == NormOrder::parallel);
      for (const auto& [name, number] : numbers)
        if (key == name && number != 0) add(key, number);
    }
  }

  void add_numbers(const std::string& name, std::vector<float> numbers) {
    const BlockType& type = *find_encoded_type("F32");
    const auto count = static_cast<std::int64_t>(numbers.size());
    writer_.add_tensor(name, {count}, type,
                       [&type, numbers = std::move(numbers)] { return encode_blocks(type, numbers); });
  }

  // The type that a matrix should have: what scores are computed with, and some layers of q4_k_m, get more
  // bits.
  std::string_view wanted_type(std::string_view name) const {
    const bool tied = !model_.network()->spec().language_model_head->untied;
    const bool scores = name == "output.weight" || (tied && name == "token_embd.weight");
    if (type_.block == "Q4_0") return scores || name == "token_embd.weight" ? "Q8_0" : "Q4_0";
    if (type_.block != "Q4_K") return type_.block;
    if (scores || name.ends_with("attn_qkv.weight")) return "Q6_K";
    if (!name.ends_with("attn_v.weight") && !name.ends_with("ffn_down.weight")) return "Q4_K";
    const std::string_view number = name.substr(name.find('.') + 1);  // blk.7.attn_v.weight
    std::int64_t layer = 0;
    std::from_chars(number.data(), number.data() + number.size(), layer);
    return has_more_bits(layer, std::ssize(stack_.layers)) ? "Q6_K" : "Q4_K";
  }

  // Rows that do not fill blocks of 256 have a type with blocks of 32 and more bits, as llama.cpp writes
  // them.
  const BlockType& type_of(const Tensor& tensor, std::string_view name) const {
    if (tensor.dim() < 2) return *find_encoded_type("F32");
    const std::string_view wanted = wanted_type(name);
    for (const std::string_view each : {wanted, std::string_view(wanted == "Q4_K" ? "Q5_0" : "Q8_0")})
      if (const BlockType& type = *find_encoded_type(each);
          tensor.size(-1) % static_cast<std::int64_t>(type.count) == 0)
        return type;
    return *find_encoded_type("F16");
  }

  void add_tensors() {
    const auto tensors = model_.by_checkpoint_name(
        [](const std::string&, const Tensor& weight) { return weight.detach().to(kFloat); }, true);
    for (const auto& [theirs, tensor] : tensors) {
      const auto found = architecture_.to_gguf(theirs);
      if (!found) fail("{}: a GGUF file has no name for the tensor {}", model_.source(), theirs);
      const auto& [name, rows] = *found;
      const BlockType& type = type_of(tensor, name);
      const float offset = name.ends_with("norm.weight") ? architecture_.norm_offset : 0;
      std::optional<RowOrder> order;
      if (rows != GgufName::Rows::as_they_lie) {
        const std::int64_t heads =
            rows == GgufName::Rows::key_pairs ? attention_.heads_of_keys() : attention_.heads;
        order =
            RowOrder{rows, static_cast<std::size_t>(heads), static_cast<std::size_t>(attention_.head_size)};
      }
      writer_.add_tensor(name, tensor.sizes().vec(), type, [tensor = tensor, order, offset, &type] {
        return encode_blocks(type, laid_out(tensor.contiguous(), order, offset));
      });
    }
  }

  static std::vector<float> laid_out(const Tensor& tensor, const std::optional<RowOrder>& order,
                                     float offset) {
    const auto count = static_cast<std::size_t>(tensor.numel()),
               rows = static_cast<std::size_t>(tensor.size(0)), columns = count / rows;
    const float* const from = tensor.const_data<float>();
    std::vector<float> to(from, from + count);
    if (order)
      for (std::size_t row = 0; row < rows; ++row)
        std::copy_n(from + row * columns, columns,
                    to.begin() + static_cast<std::ptrdiff_t>((*order)(row)*columns));
    if (offset != 0)
      for (float& each : to) each += offset;
    return to;
  }

  const PretrainedModel& model_;
  const FileType& type_;
  const GgufArchitecture& architecture_;
  const StackSpec& stack_;
  const LayerSpec& layer_;
  const AttentionSpec& attention_;
  double base_ = 10000;
  GgufWriter writer_;
};

}  // namespace

void write_gguf(const PretrainedModel& model, const std::filesystem::path& directory, const std::string& type,
                const std::filesystem::path& file) {
  const auto found = std::ranges::find(file_types, type, &FileType::name);
  if (found == std::end(file_types)) fail("`type`: expected f32, f16, q8_0, q4_0 or q4_k_m, found {}", type);
  if (!model.network()->spec().decoder) fail("{}: expected a decoder, to write a GGUF file", model.source());
  Export(model, *found).write(directory, file);
}

}  // namespace attend
