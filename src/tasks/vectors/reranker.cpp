// Scores of queries and documents: by a classifier, or by a language model that answers yes or no.
#include <attend/model.h>
#include <attend/reranker.h>

#include "base/log.h"
#include "sources/sentence_modules.h"
#include "tasks/chat/chat_template.h"
#include "tasks/texts/text_model.h"

#include <cmath>

namespace attend {
namespace {

// Qwen3-Reranker's own prompt (Zhang et al. 2025, arXiv:2506.05176), as a chat template.
constexpr const char* kQwenTemplate =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
    "Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
    "<Instruct>: {{ messages[0].content if messages[0].role == 'system' }}\n"
    "<Query>: {{ messages[-2].content }}\n<Document>: {{ messages[-1].content }}"
    // Jinja drops a newline at the end of a template.
    "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>{{ '\\n\\n' }}";
constexpr const char* kQwenInstruction =
    "Given a web search query, retrieve relevant passages that answer the query";

// How a directory that says nothing is read.
SentenceDirectory qwen_reranker(const Tokenizer& tokenizer, const std::string& source) {
  const auto yes = tokenizer.token_to_id("yes"), no = tokenizer.token_to_id("no");
  if (!yes || !no)
    fail(
        "{}: expected a classifier, a LogitScore module in modules.json, or Qwen3-Reranker, whose tokenizer "
        "has "
        "the tokens yes and no",
        source);
  inform("{}: it has no classifier and no modules.json, so it is read as Qwen3-Reranker", source);
  SentenceDirectory directory{
      .modules = {{.kind = SentenceModule::Kind::logit_score, .yes = *yes, .no = *no}}};
  directory.texts.prompt = kQwenInstruction;
  return directory;
}

bool is_qwen_decoder(const ModelDirectory& directory) {
  const std::vector<std::string> architectures = directory.architectures();
  return !architectures.empty() && architectures.front() == "Qwen3ForCausalLM";
}

// A language model that reads a query and a document, and the tokens that are its answers.
class AnsweringModel {
 public:
  AnsweringModel(const ModelPath& model, const std::filesystem::path& path,
                 const std::optional<SentenceDirectory>& settings)
      : model_(TextModel::with_token_scores(model)),
        template_(settings ? "" : kQwenTemplate, path),
        settings_(settings ? *settings : qwen_reranker(model_->tokenizer(), path.string())),
        score_(settings_.modules.front()) {
    Transformer network = model_->model().network();
    if (!network->decoder) fail("{}: expected a causal language model, found an encoder", path.string());
    const std::int64_t vocabulary = network->decoder->spec().embeddings.vocabulary;
    for (const std::int64_t token : {score_.yes, score_.no.value_or(0)})
      if (token >= vocabulary)
        fail("{}: LogitScore: expected a token below {}, found {}", path.string(), vocabulary, token);
    if (template_.is_plain()) fail("{}: expected a chat template", path.string());
  }

  std::vector<Encoding> encode(const std::vector<TextAndPair>& pairs, const RerankOptions& options) const {
    const std::string& prompt = choose_prompt(options);
    std::vector<Encoding> encodings;
    for (const TextAndPair& pair : pairs) encodings.push_back(encode(pair, prompt, options.truncate));
    return encodings;
  }

  std::vector<float> score(const std::vector<TextAndPair>& pairs, const RerankOptions& options) const {
    const std::vector<Encoding> encodings = encode(pairs, options);
    TextModel::RowNumbers last;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      model_->check(encodings[i], name_of_text(i, pairs.size()));
      last.push_back({std::ssize(encodings[i].ids) - 1});
    }
    std::vector<float> scores(pairs.size());
    model_->score_tokens(encodings, last, options, [&](std::size_t i, const Tensor& logits) {  // [1, V]
      const std::vector<float> row = numbers(logits[0]);
      scores[i] = row[static_cast<std::size_t>(score_.yes)];
      if (score_.no) scores[i] -= row[static_cast<std::size_t>(*score_.no)];
    });
    return scores;
  }

 private:
  const std::string& choose_prompt(const RerankOptions& options) const {
    if (options.prompt) return *options.prompt;
    if (!options.prompt_name) return settings_.texts.prompt;
    const auto found = settings_.prompts.find(*options.prompt_name);
    if (found == settings_.prompts.end())
      fail("prompt_name: the model has no prompt {}", shown(Json(*options.prompt_name)));
    return found->second;
  }

  Encoding encode(const TextAndPair& pair, const std::string& prompt, bool truncate) const {
    std::vector<ChatMessage> messages = {{"query", pair.text}, {"document", pair.pair.value()}};
    if (!prompt.empty()) messages.insert(messages.begin(), {"system", prompt});
    const std::string text = template_.prompt(messages, {{"add_generation_prompt", false}});
    Encoding encoding = encode_alone(text);
    std::optional<std::size_t> limit = model_->longest().tokens();
    if (const auto own = settings_.texts.max_length)
      limit = std::min<std::size_t>(limit.value_or(*own), *own);
    if (!truncate || !limit || encoding.ids.size() <= *limit) return encoding;
    // What follows the document stays whole.
    const std::size_t at = pair.pair->empty() ? text.npos : text.rfind(*pair.pair);
    const Encoding end = encode_alone(at == text.npos ? "" : text.substr(at + pair.pair->size()));
    if (end.ids.size() >= *limit)
      fail("the chat template's end has {} tokens, but the model reads {}", end.ids.size(), *limit);
    encoding.ids.resize(*limit - end.ids.size());
    encoding.ids.insert(encoding.ids.end(), end.ids.begin(), end.ids.end());
    fill_types(encoding);
    model_->longest().say_cut(/*asked=*/true, "");
    return encoding;
  }

  // Without the special tokens of the tokenizer: the template writes them.
  Encoding encode_alone(const std::string& text) const {
    Encoding encoding = model_->tokenizer().encode(text, {.special_tokens = false, .with_details = false});
    fill_types(encoding);
    return encoding;
  }

  static void fill_types(Encoding& encoding) {
    encoding.attention_mask.assign(encoding.ids.size(), 1);
    encoding.type_ids.assign(encoding.ids.size(), 0);
  }

  std::shared_ptr<TextModel> model_;
  ChatTemplate template_;
  SentenceDirectory settings_;
  SentenceModule score_;
};

}  // namespace

struct Reranker::State {
  // A classifier, and what its tokens are counted with.
  struct CrossEncoder {
    Model model;
    TextClassifier classifier{model};
    LongestText longest{ModelPath(model).directory, *ModelPath(model).loaded};
  };

  std::string source;
  std::optional<CrossEncoder> encoder;
  std::optional<AnsweringModel> answers;

  explicit State(const ModelPath& model) {
    const ModelDirectory directory(model);
    source = directory.path().string();
    std::optional<SentenceDirectory> settings = read_sentence_directory(directory);
    const bool scores = settings->modules.front().kind == SentenceModule::Kind::logit_score;
    const bool assumed = settings->assumed;
    if (!scores) settings.reset();
    if (scores || (assumed && is_qwen_decoder(directory)))
      answers.emplace(model, directory.path(), settings);
    else
      encoder.emplace(CrossEncoder{Model(model)});
  }

  std::vector<float> classify(const std::vector<TextAndPair>& pairs, const RerankOptions& options) {
    if (options.prompt || options.prompt_name)
      fail("{}: a classifier reads a query and a document without a prompt", source);
    ClassifyOptions how;
    static_cast<RunOptions&>(how) = options;
    how.top_k = 0;
    how.function = ScoreFunction::none;
    std::vector<float> scores;
    for (const std::vector<LabelScore>& labels : encoder->classifier.classify(pairs, how)) {
      if (labels.size() != 1)
        fail("expected a model that gives a query and a document one score, found one with {} labels",
             labels.size());
      scores.push_back(labels.front().score);
    }
    return scores;
  }

  // As the classifier reads them.
  std::vector<Encoding> encode(const std::vector<TextAndPair>& pairs, bool truncate) const {
    const EncodeOptions how{.with_details = false, .truncation = encoder->longest.truncation(truncate)};
    std::vector<Encoding> encodings;
    for (const TextAndPair& pair : pairs)
      encodings.push_back(encoder->model.tokenizers().source->encode_pair(pair.text, pair.pair.value(), how));
    return encodings;
  }
};

namespace {

void check_documents(const std::vector<TextAndPair>& pairs) {
  for (const TextAndPair& pair : pairs)
    if (!pair.pair) throw Error("expected a document for each query", ErrorKind::input);
}

}  // namespace

Reranker::Reranker(const ModelPath& model) : state_(std::make_shared<State>(model)) {}

std::vector<float> Reranker::score(const std::vector<TextAndPair>& pairs, const RerankOptions& options) {
  check_documents(pairs);
  std::vector<float> scores =
      state_->encoder ? state_->classify(pairs, options) : state_->answers->score(pairs, options);
  if (!options.raw_scores)
    for (float& score : scores) score = 1 / (1 + std::exp(-score));
  return scores;
}

std::vector<std::size_t> Reranker::count_tokens(const std::vector<TextAndPair>& pairs,
                                                const RerankOptions& options) const {
  check_documents(pairs);
  std::vector<std::size_t> counts;
  for (const Encoding& encoding :
       state_->encoder ? state_->encode(pairs, options.truncate) : state_->answers->encode(pairs, options))
    counts.push_back(encoding.ids.size());
  return counts;
}

}  // namespace attend
