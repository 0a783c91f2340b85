#include "sources/ctranslate2/ctranslate2_fields.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

namespace attend::ctranslate2 {
namespace {

// Indexed by their numbers in the file, with Hugging Face's names.
constexpr const char* activations[] = {"relu", "gelu_new", "swish", "gelu", "quick_gelu", "tanh", "sigmoid"};
// CTranslate2's defaults for fields that its config.json leaves out.
constexpr double norm_epsilon = 1e-5, root_mean_square_epsilon = 1e-6;
// CTranslate2's default maximum of generated tokens; one more is the decoder's start token.
constexpr std::int64_t longest_text = 256;

double required(const CTranslate2& file, const std::string& name) {
  const auto number = file.number(name);
  if (!number) fail("{}: the number {} is missing", file.source(), shown(Json(name)));
  return *number;
}

std::int64_t whole(const CTranslate2& file, const std::string& name) {
  const double number = required(file, name);
  if (!(number >= 1 && number <= 1 << 20) || number != std::floor(number))
    fail("{}: {}: expected an integer from 1 to {}, found {}", file.source(), shown(Json(name)), 1 << 20,
         number);
  return static_cast<std::int64_t>(number);
}

std::int64_t matrix_rows(const CTranslate2& file, const std::string& name) {
  return file.get(name, 2).shape[0];
}
std::int64_t matrix_columns(const CTranslate2& file, const std::string& name) {
  return file.get(name, 2).shape[1];
}

// Counts layers 0, 1, 2, ...; none may be missing.
std::int64_t count_layers(const CTranslate2& file, const std::string& stack) {
  const std::string begin = stack + "/layer_";
  std::set<std::int64_t> layers;
  for (auto at = file.variables().lower_bound(begin);
       at != file.variables().end() && at->first.starts_with(begin); ++at) {
    std::int64_t layer = 0;
    const char *const from = at->first.data() + begin.size(), *const end =
                                                                  at->first.data() + at->first.size();
    const auto read = std::from_chars(from, end, layer);
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '/') layers.insert(layer);
  }
  if (layers.empty()) fail("{}: the variables of {}0 are missing", file.source(), begin);
  const auto count = static_cast<std::int64_t>(layers.size());
  if (*layers.begin() != 0 || *layers.rbegin() != count - 1)
    fail("{}: expected the {} layers of the {} to be numbered from 0 to {}, found {}", file.source(), count,
         stack, count - 1, *layers.begin() != 0 ? *layers.begin() : *layers.rbegin());
  return count;
}

std::string activation_of(const CTranslate2& file, const std::string& stack) {
  const double number = required(file, stack + "/activation");
  for (std::size_t i = 0; i < std::size(activations); ++i)
    if (number == static_cast<double>(i)) return activations[i];
  fail("{}: {}/activation: expected 0 to {}, found {}", file.source(), stack, std::size(activations) - 1,
       number);
}

// Either a flag or the factor itself.
bool are_embeddings_scaled(const CTranslate2& file, const std::string& stack, std::int64_t width) {
  const std::string name = stack + "/scale_embeddings";
  const double scale = required(file, name), root = std::sqrt(static_cast<double>(width));
  const bool is_flag = file.get(name, 0).type == DType::i8;
  if (is_flag ? scale == 0 : scale == 1) return false;
  if (is_flag || std::abs(scale - root) < 1e-3 * root) return true;
  fail("{}: {}: expected 1 or the square root of the width, {:.6g}, found {}", file.source(), name, root,
       scale);
}

void check_unscaled(const CTranslate2& file, const std::string& stack, std::int64_t width) {
  if (are_embeddings_scaled(file, stack, width))
    fail("{}: {}/scale_embeddings: a model of this family does not have it; give the original model",
         file.source(), stack);
}

double epsilon_of(const Fields& settings, double otherwise) {
  return settings.number({"layer_norm_epsilon"}, otherwise, 0, 1);
}
void check_epsilon(const Fields& settings) {
  if (const double epsilon = epsilon_of(settings, norm_epsilon);
      std::abs(epsilon - norm_epsilon) > 1e-3 * norm_epsilon)
    fail("{}: layer_norm_epsilon: expected {} or null for a model of this family, found {}",
         settings.source(), norm_epsilon, epsilon);
}

void check_alike(const CTranslate2& file, std::string_view what, const Json& encoder, const Json& decoder) {
  if (encoder != decoder)
    fail("{}: expected encoder and decoder to have the same {}, found {} and {}", file.source(), what,
         shown(encoder), shown(decoder));
}

// Sines and cosines are computed, not read, so those of the file must be equal to the computed ones. `first`:
// the position of the first row; with `ends_included`, frequency i of n is 10000^(-i / (n - 1)).
void check_sines(const CTranslate2& file, const std::string& stack, std::int64_t first, bool ends_included) {
  const std::string name = stack + "/position_encodings/encodings";
  const CTranslate2Variable& table = file.get(name, 2);
  const std::int64_t rows = table.shape[0], width = table.shape[1];
  const std::int64_t half = width / 2, sines = ends_included ? half : (width + 1) / 2;
  const double steps = ends_included ? static_cast<double>(half - 1) : static_cast<double>(width) / 2;
  constexpr std::int64_t looked_at = 64;  // rows to check; a hostile table may have very many rows
  constexpr double tolerance = 0.01;      // bfloat16 has 8 bits, and not all sines are of double precision
  for (std::int64_t row = 0; row < rows; row += std::max<std::int64_t>(1, rows / looked_at))
    for (std::int64_t j = 0; j < (ends_included ? 2 * sines : width); ++j) {
      const std::int64_t pair = j / 2, column = j % 2 == 0 ? pair : sines + pair;
      const double angle =
          static_cast<double>(row + first) / std::pow(10000.0, static_cast<double>(pair) / steps);
      const float found = table.at(static_cast<std::size_t>(row * width + column));
      if (const double wanted = j % 2 == 0 ? std::sin(angle) : std::cos(angle);
          !(std::abs(found - wanted) < tolerance))
        fail(
            "{}: {}: expected sines and cosines, {:.4f} in row {}, column {}, found {:.4f}; give the "
            "original "
            "model",
            file.source(), name, wanted, row, column, found);
    }
}

// What Marian, M2M-100 and BART share.
Json sequence_to_sequence_fields(const CTranslate2& file, const Fields& settings, std::int64_t left_out) {
  check_epsilon(settings);
  const std::int64_t width = matrix_columns(file, target_table), words = matrix_rows(file, target_table);
  check_alike(file, "number of tokens", matrix_rows(file, source_table), words);
  check_alike(file, "activation", activation_of(file, "encoder"), activation_of(file, "decoder"));
  const bool scaled = are_embeddings_scaled(file, "decoder", width);
  check_alike(file, "scale of embeddings", are_embeddings_scaled(file, "encoder", width), scaled);
  const std::int64_t positions = matrix_rows(file, "decoder/position_encodings/encodings");
  check_alike(file, "number of positions", matrix_rows(file, "encoder/position_encodings/encodings"),
              positions);
  return {{"is_encoder_decoder", true},
          {"vocab_size", words + left_out},
          {"d_model", width},
          {"encoder_layers", count_layers(file, "encoder")},
          {"encoder_attention_heads", whole(file, "encoder/num_heads")},
          {"encoder_ffn_dim", matrix_rows(file, "encoder/layer_0/ffn/linear_0/weight")},
          {"decoder_layers", count_layers(file, "decoder")},
          {"decoder_attention_heads", whole(file, "decoder/num_heads")},
          {"decoder_ffn_dim", matrix_rows(file, "decoder/layer_0/ffn/linear_0/weight")},
          {"activation_function", activation_of(file, "decoder")},
          {"max_position_embeddings", positions},
          {"scale_embedding", scaled},
          {"tie_word_embeddings", is_tied(file)},
          {"max_length", std::min(longest_text + 1, positions)}};
}

void check_one_table(const CTranslate2& file) {
  if (!file.are_one(source_table, target_table))
    fail("{}: expected {} to be an alias of {}, because models of this family share it", file.source(),
         source_table, target_table);
}

}  // namespace

bool is_tied(const CTranslate2& file) {
  return file.are_one("decoder/projection/weight", target_table);
}

bool is_gated(const CTranslate2& file) {
  return file.find("encoder/layer_0/ffn/linear_0_noact/weight") != nullptr;
}

Json marian_fields(const CTranslate2& file, const Fields& settings) {
  Json fields = sequence_to_sequence_fields(file, settings, 1);
  fields["share_encoder_decoder_embeddings"] = file.are_one(source_table, target_table);
  for (const char* stack : {"encoder", "decoder"}) check_sines(file, stack, 0, false);
  return fields;
}

Json m2m_100_fields(const CTranslate2& file, const Fields& settings) {
  constexpr std::int64_t first_position = 2;  // after the row of padding, whose id is 1
  Json fields = sequence_to_sequence_fields(file, settings, 0);
  check_one_table(file);
  for (const char* stack : {"encoder", "decoder"}) check_sines(file, stack, first_position, true);
  fields["pad_token_id"] = first_position - 1;
  return fields;
}

Json bart_fields(const CTranslate2& file, const Fields& settings) {
  Json fields = sequence_to_sequence_fields(file, settings, 0);
  check_one_table(file);
  fields["normalize_before"] = false;  // required by CTranslate2's converter
  return fields;
}

Json t5_fields(const CTranslate2& file, const Fields& settings) {
  check_one_table(file);
  const std::int64_t width = matrix_columns(file, target_table), heads = whole(file, "encoder/num_heads");
  check_alike(file, "number of heads", heads, whole(file, "decoder/num_heads"));
  const std::string activation = activation_of(file, "encoder");
  check_alike(file, "activation", activation, activation_of(file, "decoder"));
  const std::string inner = "/layer_0/ffn/linear_0/weight", bias = "/self_attention/relative_attention_bias",
                    furthest = "/self_attention/relative_attention_max_distance";
  check_alike(file, "width of feed-forward layers", matrix_rows(file, "encoder" + inner),
              matrix_rows(file, "decoder" + inner));
  const std::int64_t buckets = matrix_rows(file, "encoder/layer_0" + bias),
                     distance = whole(file, "encoder/layer_0" + furthest);
  check_alike(file, "number of distances", buckets, matrix_rows(file, "decoder/layer_0" + bias));
  Json fields = {{"is_encoder_decoder", true}, {"vocab_size", matrix_rows(file, target_table)}};
  for (const std::string stack : {"encoder", "decoder"}) {
    const std::int64_t layers = count_layers(file, stack);
    fields[stack == "encoder" ? "num_layers" : "num_decoder_layers"] = layers;
    const std::string first = stack + "/layer_0" + bias;
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string layer = stack + "/layer_" + std::to_string(i);
      if (!file.are_one(first, layer + bias))
        fail("{}: expected {}{} to be an alias of {}, because in T5 all layers share it", file.source(),
             layer, bias, first);
      if (whole(file, layer + furthest) != distance)
        fail("{}: {}{}: expected {} as in the first layer", file.source(), layer, furthest, distance);
      required(file, layer + "/self_attention/queries_scale");
      if (stack == "decoder") required(file, layer + "/attention/queries_scale");
    }
  }
  const auto scale = file.number(output_scale);
  const double wanted = 1 / std::sqrt(static_cast<double>(width));
  if (scale && (!is_tied(file) || !(std::abs(*scale - wanted) < 1e-3 * wanted)))
    fail("{}: {}: expected {:.6g} if the head is tied to the token table, and nothing if it is not, found {}",
         file.source(), output_scale, wanted, *scale);
  // In "gated-gelu", GELU is the tanh approximation.
  const std::string kind = activation == "gelu_new" ? "gelu"
                           : activation == "gelu"   ? "gelu_python"
                                                    : activation;
  fields.update({{"d_model", width},
                 {"d_kv", matrix_rows(file, "encoder/layer_0/self_attention/linear_0/weight") / (3 * heads)},
                 {"d_ff", matrix_rows(file, "encoder" + inner)},
                 {"num_heads", heads},
                 {"relative_attention_num_buckets", buckets},
                 {"relative_attention_max_distance", distance},
                 {"layer_norm_epsilon", epsilon_of(settings, root_mean_square_epsilon)},
                 {"feed_forward_proj", is_gated(file) ? "gated-" + kind : activation},
                 {"tie_word_embeddings", scale.has_value()},
                 {"max_length", longest_text + 1}});
  for (const char* stack : {"encoder", "decoder"}) check_unscaled(file, stack, width);
  return fields;
}

Json gpt2_fields(const CTranslate2& file, const Fields& settings) {
  const std::int64_t width = matrix_columns(file, target_table);
  check_unscaled(file, "decoder", width);
  return {{"vocab_size", matrix_rows(file, target_table)},
          {"n_positions", matrix_rows(file, "decoder/position_encodings/encodings")},
          {"n_embd", width},
          {"n_layer", count_layers(file, "decoder")},
          {"n_head", whole(file, "decoder/num_heads")},
          {"n_inner", matrix_rows(file, "decoder/layer_0/ffn/linear_0/weight")},
          {"activation_function", activation_of(file, "decoder")},
          {"layer_norm_epsilon", epsilon_of(settings, norm_epsilon)},
          {"tie_word_embeddings", is_tied(file)}};
}

Json bert_fields(const CTranslate2& file, const Fields& settings) {
  const std::int64_t width = matrix_columns(file, source_table);
  check_unscaled(file, "encoder", width);
  return {{"vocab_size", matrix_rows(file, source_table)},
          {"type_vocab_size", matrix_rows(file, "encoder/embeddings_1/weight")},
          {"max_position_embeddings", matrix_rows(file, "encoder/position_encodings/encodings")},
          {"hidden_size", width},
          {"num_hidden_layers", count_layers(file, "encoder")},
          {"num_attention_heads", whole(file, "encoder/num_heads")},
          {"intermediate_size", matrix_rows(file, "encoder/layer_0/ffn/linear_0/weight")},
          {"hidden_act", activation_of(file, "encoder")},
          {"layer_norm_eps", epsilon_of(settings, norm_epsilon)}};
}

}  // namespace attend::ctranslate2
