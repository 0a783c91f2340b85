#include "cli/options/talk_options.h"

namespace attend::cli {

void add_talk_options(CLI::App& app, const TalkArguments& arguments) {
  app.add_option(
      "--template", arguments.chat_template,
      "chat, preferences: a Jinja chat template, or the name of one of the model's; its {% generation "
      "%} marks say what is learned");
  app.add_option(
      "--reference", arguments.reference,
      "preferences: the model that this one is compared with. Default in training: the model as it "
      "starts; else: the model without its adapter");
  app.add_option("--beta", arguments.beta,
                 "preferences: how closely the model stays with its reference; 0.1, higher is closer")
      ->check(CLI::PositiveNumber);
  app.add_option("--loss-type", arguments.loss_type,
                 "preferences: sigmoid (DPO; with --label-smoothing cDPO), robust, hinge or ipo");
}

}  // namespace attend::cli
