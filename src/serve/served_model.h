// The models of a server, by the names that requests have for them.
#pragma once

#include <attend/generation_queue.h>
#include <attend/model.h>

#include "formats/json.h"
#include "serve/endpoint.h"
#include "serve/gathered.h"
#include "serve/text_figures.h"
#include "serve/token_report.h"
#include "serve/wishes.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attend::serve {

struct NamedModel {
  std::string name;  // empty: what its directory is called
  ModelPath path;
};

// One model, and what it does. Its adapters have names of their own: of their directories.
class ServedModel {
 public:
  // Error for two adapters of one name.
  ServedModel(const NamedModel& named, const QueueOptions& options);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& adapters() const { return adapters_; }
  const Model& model() const { return model_; }
  GenerationQueue* queue() const { return queue_.get(); }  // null: it generates no text
  bool is_encoder_decoder() const { return is_encoder_decoder_; }
  const OwnSettings& own_settings() const { return own_; }
  TextFigures& figures() const { return *figures_; }  // of the texts that were asked for

  // How a prompt is read.
  std::vector<TokenId> prompt_ids(const std::string& text) const;
  const TokenNames& token_names();
  // How likely each token of a prompt is behind those before it; of the first, nothing is known. Prompts that
  // come at the same time are read together.
  std::vector<ReportedToken> report(const std::vector<TokenId>& prompt, std::optional<std::int64_t> adapter,
                                    std::size_t likeliest);

  // Texts of requests that come at the same time are read together.
  using Vectors = std::vector<std::vector<float>>;
  Vectors embed(const std::vector<std::string>& texts, const EmbedOptions& options);
  const Embedder& embedder() { return loaded_embedder(); }

 private:
  struct TextToRead {
    std::string text;
    std::shared_ptr<const EmbedOptions> options;
  };
  struct PromptToScore {
    std::vector<TokenId> ids;
    std::optional<std::int64_t> adapter;
    std::size_t likeliest;
  };
  std::vector<std::vector<TokenProbability>> score_now(const std::vector<PromptToScore>& prompts);
  Vectors embed_now(const std::vector<TextToRead>& texts);
  Embedder& loaded_embedder();

  std::string name_;
  std::vector<std::string> adapters_;
  Model model_;
  OwnSettings own_;
  bool is_encoder_decoder_ = false;
  std::size_t longest_prompt_ = 0;
  std::optional<TokenId> bos_;
  std::unique_ptr<TextFigures> figures_ = std::make_unique<TextFigures>();
  std::mutex making_;
  // Once somebody asks for them.
  std::optional<Embedder> embedder_;
  std::optional<TextScorer> scorer_;
  std::optional<TokenNames> token_names_;
  Gathered<TextToRead, std::vector<float>> gathered_;
  Gathered<PromptToScore, std::vector<TokenProbability>> gathered_prompts_;
  // Last, so that it ends first: the texts that it breaks off are still told to all of the above.
  std::unique_ptr<GenerationQueue> queue_;
};

// Which model a request is for, and with which of its adapters.
struct Asked {
  ServedModel& model;
  std::string name;
  std::optional<std::int64_t> adapter;  // absent: it has none
};

class ServedModels {
 public:
  // Error for two of one name.
  ServedModels(const std::vector<NamedModel>& models, const QueueOptions& options);

  // By the field "model", which may be missing if there is one model; its own name is without adapters.
  // Refuses, with the names there are.
  Asked find(const Fields& body) const;
  const std::vector<std::unique_ptr<ServedModel>>& all() const { return models_; }
  Json list() const;  // as the API of OpenAI has it
  // One of the list. Refuses, with the names there are.
  Json entry(const std::string& name) const;
  RequestField field() const;  // "model", of every request

 private:
  std::vector<std::string> names() const;

  std::vector<std::unique_ptr<ServedModel>> models_;
};

}  // namespace attend::serve
