// attend inspect MODEL: describes a model directory without loading it.
#include "cli/options/verb.h"
#include "models/derived/model_info.h"

#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attend::cli {
namespace {

// "cls", or "cls+mean" if vectors of several kinds are concatenated.
std::string pooling_of(const SentenceDirectory& sentences) {
  if (!sentences.makes_vectors())
    return sentences.modules.front().kind == SentenceModule::Kind::splade ? "splade" : "logit_score";
  std::vector<std::string> names;
  for (const SentencePooling::Mode mode : sentences.modules.front().modes)
    names.push_back(pooling_name(mode));
  return fmt::format("{}", fmt::join(names, "+"));
}

Json as_json(const SentenceDirectory& sentences) {
  Json json = {{"mode", pooling_of(sentences)},
               {"normalize", sentences.normalizes()},
               {"max_length", nullptr},
               {"prompt", sentences.texts.prompt},
               {"prompts", sentences.prompts},
               {"include_prompt", sentences.modules.front().include_prompt},
               {"similarity", similarity_name(sentences.similarity)},
               {"dimensions", nullptr},
               {"assumed", sentences.assumed}};
  if (sentences.texts.max_length) json["max_length"] = *sentences.texts.max_length;
  if (sentences.dimensions) json["dimensions"] = *sentences.dimensions;
  return json;
}

std::string as_text(const SentenceDirectory& sentences) {
  using Kind = SentenceModule::Kind;
  std::string line = fmt::format("{} pooling", pooling_of(sentences));
  if (!sentences.makes_vectors())
    line = sentences.modules.front().kind == Kind::splade
               ? "sparse vectors (`attend run sparse-vectors`)"
               : "scores of a query and a document (`attend run rerank`)";
  for (const SentenceModule& module : sentences.modules) {
    if (module.kind == Kind::dense) line += fmt::format(", a dense layer of {}", module.out);
    if (module.kind == Kind::norm) line += ", a layer norm";
    if (module.kind == Kind::unit_length) line += ", normalized";
  }
  if (sentences.assumed) line += ", not normalized (assumed: there is no modules.json)";
  if (sentences.dimensions) line += fmt::format(", cut to {} numbers", *sentences.dimensions);
  if (sentences.texts.max_length) line += fmt::format(", at most {} tokens", *sentences.texts.max_length);
  if (sentences.similarity != Similarity::cosine)
    line += fmt::format(", similarity {}", similarity_name(sentences.similarity));
  for (const auto& [name, prompt] : sentences.prompts)
    if (!prompt.empty()) line += fmt::format(", prompt {}: {}", name, shown(prompt));
  if (!sentences.texts.prompt.empty())
    line += fmt::format(", default prompt {}", shown(sentences.texts.prompt));
  return line;
}

// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t number) {
  if (number < 1000) return std::to_string(number);
  return fmt::format("{},{:03}", grouped(number / 1000), number % 1000);
}

std::string memory(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "kB", "MB", "GB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1000 && unit + 1 < std::size(units); ++unit) size /= 1000;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", size, units[unit]);
}

Json tensor_list(const WeightFiles& checkpoint) {
  Json list = Json::array();
  for (const auto& [tensor_name, tensor] : checkpoint.tensors())
    list.push_back({{"name", tensor_name},
                    {"dtype", tensor.stored_as()},
                    {"shape", tensor.shape},
                    {"file", checkpoint.file_of(tensor_name).filename().string()}});
  return list;
}

Json as_json(const Inspection& inspection) {
  Json json = {{"model_type", inspection.model_type},
               {"architectures", inspection.architectures},
               {"parameters", inspection.parameters},
               {"buffers", inspection.buffers},
               {"types", Json::object()},
               {"files", Json::array()},
               {"tokenizer", nullptr},
               {"sentence_pooling", nullptr},
               {"generation", inspection.generation},
               {"unusual", inspection.unusual}};
  for (const auto& [type, totals] : inspection.types)
    json["types"][type] = {{"tensors", totals.tensors}, {"values", totals.values}, {"bytes", totals.bytes}};
  for (const auto& file : inspection.files)
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
  if (const auto& tokenizer = inspection.tokenizer) {
    json["tokenizer"] = {{"kind", tokenizer->kind}, {"file", tokenizer->file}, {"vocabulary", nullptr}};
    if (tokenizer->vocabulary) json["tokenizer"]["vocabulary"] = *tokenizer->vocabulary;
  }
  if (inspection.sentences) json["sentence_pooling"] = as_json(*inspection.sentences);
  return json;
}

void print_line(const char* title, std::string_view text) {
  fmt::print("{:<13}{}\n", title, text);
}

void print_text(const Inspection& inspection) {
  print_line("model",
             fmt::format("{} ({})", inspection.model_type, fmt::join(inspection.architectures, ", ")));
  print_line("parameters", grouped(inspection.parameters));
  if (inspection.buffers > 0) print_line("buffers", grouped(inspection.buffers));
  for (const auto& [type, totals] : inspection.types)
    print_line("tensors", fmt::format("{} {}, {} values, {}", grouped(totals.tensors), type,
                                      grouped(totals.values), memory(totals.bytes)));
  for (const auto& file : inspection.files)
    print_line("file", fmt::format("{}, {}", file.name, memory(file.bytes)));
  if (const auto& tokenizer = inspection.tokenizer) {
    const std::string size =
        tokenizer->vocabulary ? fmt::format(", {} tokens", grouped(*tokenizer->vocabulary)) : "";
    print_line("tokenizer", fmt::format("{}{} ({})", tokenizer->kind, size, tokenizer->file));
  }
  if (inspection.sentences) print_line("sentences", as_text(*inspection.sentences));
  for (const auto& [field, value] : inspection.generation.items())
    if (field != "_from_model_config" && field != "transformers_version")
      print_line("generation", fmt::format("{} {}", field, shown(value)));
  for (const std::string& remark : inspection.unusual) print_line("unusual", remark);
}

}  // namespace

int inspect(int argc, char** argv) {
  Parser parser(
      "inspect",
      "Describes a model directory or GGUF file: architecture, parameters, memory, anything unusual",
      "attend inspect models/families/bert --tensors");
  std::string model;
  bool json = false, tensors = false, check_values = false;
  parser.app().add_option("model", model, "The model directory or GGUF file")->required();
  parser.app().add_flag("--json", json, "Print one JSON object");
  parser.app().add_flag("--tensors", tensors, "List every tensor");
  parser.app().add_flag("--check-values", check_values,
                        "Read all weights and report NaN, infinity, and values large enough to overflow");
  if (const auto status = parser.parse(argc, argv)) return *status;

  const ModelDirectory directory(model);
  const WeightFiles checkpoint = directory.weight_files();
  const Inspection inspection = describe_model(directory, checkpoint, check_values);
  const Json list = tensors ? tensor_list(checkpoint) : Json::array();
  if (json) {
    Json result = as_json(inspection);
    if (tensors) result["tensors"] = list;
    fmt::print("{}\n", result.dump(-1, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  print_text(inspection);
  for (const Json& tensor : list)
    fmt::print("{} {} {} {}\n", shown(tensor["name"]), tensor["dtype"].get<std::string>(),
               tensor["shape"].dump(), tensor["file"].get<std::string>());
  return 0;
}

}  // namespace attend::cli
