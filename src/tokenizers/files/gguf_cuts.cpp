#include "tokenizers/files/gguf_cuts.h"

#include "base/error.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

constexpr const char* llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* tekken_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* gpt4o_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::vector<GgufCut> cuts = {
    {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "exaone4", "modern-bert", "jina-es", "jina-de", "gigachat"},
     nullptr},
    {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}, nullptr, true},
    {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "lfm2", "pixtral"},
     .pattern = llama3_pattern,
     .keeps_known = true,
     .begins = true},
    {{"dbrx", "smaug-bpe"}, llama3_pattern},
    {.names = {"qwen2", "deepseek-r1-qwen", "megrez"}, .pattern = qwen2_pattern, .composes = true},
    {{"stablelm2"}, qwen2_pattern},
    {.names = {"tekken"}, .pattern = tekken_pattern, .keeps_known = true, .begins = true},
    {{"gpt-4o", "llama4"}, gpt4o_pattern},
};

}  // namespace

const GgufCut* find_cut(std::string_view name) {
  const auto found = std::ranges::find_if(
      cuts, [&](const GgufCut& cut) { return std::ranges::find(cut.names, name) != cut.names.end(); });
  return found == cuts.end() ? nullptr : &*found;
}

const GgufCut& gguf_cut(const Gguf& gguf) {
  const std::string name = gguf.metadata().text({"tokenizer.ggml.pre"}, "gpt-2");
  if (const GgufCut* const found = find_cut(name)) return *found;
  std::string known;
  for (const GgufCut& cut : cuts) known += (known.empty() ? "" : ", ") + std::string(cut.names.front());
  fail(
      "{}: tokenizer.ggml.pre: expected {} or one of their relatives, found {}, whose rules for words are "
      "unknown",
      gguf.source(), known, shown(Json(name)));
}

// Writes it into a tokenizer.json that splits text like GPT-2.
void set_cut(const GgufCut& cut, Json& fields) {
  if (cut.composes) fields["normalizer"] = {{"type", "NFC"}};
  if (cut.keeps_known) fields["model"]["ignore_merges"] = true;
  Json bytes = fields.at("pre_tokenizer");
  if (cut.pattern != nullptr) {
    bytes["use_regex"] = false;
    fields["pre_tokenizer"] = {{"type", "Sequence"},
                               {"pretokenizers",
                                {{{"type", "Split"},
                                  {"pattern", {{"Regex", cut.pattern}}},
                                  {"behavior", "Isolated"},
                                  {"invert", false}},
                                 bytes}}};
  } else if (cut.digits_apart) {
    fields["pre_tokenizer"] = {{"type", "Sequence"},
                               {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, bytes}}};
  }
}

std::string name_of_cut(const Json& fields, const std::string& source) {
  const Json own = fields.value("pre_tokenizer", Json());
  const Json parts =
      own.is_object() && own.contains("pretokenizers") ? own.at("pretokenizers") : Json::array({own});
  std::string pattern;
  bool digits = false, bytes = false, others = false;
  for (const Json& part : parts) {
    const std::string type = part.is_object() ? part.value("type", "") : "";
    if (type == "Split" && part.at("pattern").contains("Regex"))
      pattern = part.at("pattern").at("Regex").get<std::string>();
    else if (type == "Digits")
      digits = part.value("individual_digits", false);
    else if (type == "ByteLevel")
      bytes = true;
    else
      others = true;
  }
  const bool known = fields.at("model").value("ignore_merges", false);
  for (const GgufCut& cut : cuts)
    if (bytes && !others && pattern == (cut.pattern == nullptr ? "" : cut.pattern) &&
        digits == cut.digits_apart && known == cut.keeps_known)
      return std::string(cut.names.front());
  fail("{}: GGUF has no name for the tokenizer's rules for words: {}", source, shown(own));
}

}  // namespace attend::tokenizers
