// A model of a server.
#pragma once

#include <attend/embedder.h>
#include <attend/generation_queue.h>
#include <attend/model.h>

#include "formats/json/json.h"
#include "serve/http/endpoint.h"
#include "serve/models/gathered.h"
#include "serve/models/request_settings.h"
#include "serve/models/text_figures.h"
#include "serve/models/token_report.h"
#include "serve/models/waiting_room.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attend::serve {

class ModelLanguages;
class ServedModels;  // served_models.h
class TextJudge;

struct NamedModel {
  std::string name;  // empty: the directory's name
  ModelPath path;
  std::vector<std::string> adapters = {};  // names; empty: their directories' names
};
// The same with all its names.
NamedModel with_names(NamedModel named);

// One model with its adapters, and its services. A change of adapters makes another ServedModel that shares
// the weights, so requests in flight keep theirs.
class ServedModel {
 public:
  // `named`: with_names. `before`: null, or the model whose place this one takes.
  ServedModel(const NamedModel& named, const QueueOptions& options, const ServedModel* before = nullptr);
  ~ServedModel();

  const std::string& name() const { return name_; }
  const std::vector<std::string>& adapters() const { return adapters_; }
  std::uint64_t number() const { return number_; }  // unique
  const Model& model() const { return model_; }
  GenerationQueue* queue() const { return queue_.get(); }  // null: it does not generate text
  bool is_encoder_decoder() const { return is_encoder_decoder_; }
  const OwnSettings& own_settings() const { return own_; }
  TextFigures& figures() const { return *figures_; }  // of the requested texts
  WaitingRoom& waiting_room() { return waiting_room_; }
  TextJudge& judge() const { return *judge_; }
  const ModelLanguages& languages() const { return *languages_; }

  // The parameters for reading a prompt.
  std::vector<TokenId> prompt_ids(const std::string& text) const;
  const TokenNames& token_names();
  // The probability of each token of a prompt after the previous ones; none for the first. Prompts that
  // arrive at the same time are read together.
  std::vector<ReportedToken> report(const std::vector<TokenId>& prompt, std::optional<std::int64_t> adapter,
                                    std::size_t likeliest);

  // Texts of requests that arrive at the same time are read together.
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
  void begin_queue(const PretrainedModel& loaded, const QueueOptions& options);

  std::string name_;
  std::vector<std::string> adapters_;
  const std::uint64_t number_;
  Model model_;
  OwnSettings own_;
  bool is_encoder_decoder_ = false;
  std::size_t longest_prompt_ = 0;
  std::optional<TokenId> bos_;
  std::shared_ptr<TextFigures> figures_;
  WaitingRoom waiting_room_;
  std::mutex making_;
  // Made on first use.
  std::optional<Embedder> embedder_;
  std::optional<TextScorer> scorer_;
  std::optional<TokenNames> token_names_;
  Gathered<TextToRead, std::vector<float>> gathered_;
  Gathered<PromptToScore, std::vector<TokenProbability>> gathered_prompts_;
  std::unique_ptr<TextJudge> judge_;
  std::unique_ptr<ModelLanguages> languages_;
  // Last, so that it is destroyed first: the texts that it breaks off still report to all members above.
  std::unique_ptr<GenerationQueue> queue_;
};

// The model and the adapter that a request names.
struct ChosenModel {
  ServedModel& model;
  std::string name;
  std::optional<std::int64_t> adapter;     // absent: no adapter
  std::shared_ptr<ServedModel> held;       // kept until the request ends
  std::shared_ptr<const void> place = {};  // reserved in the model's waiting room
};

}  // namespace attend::serve
