#include "serve/models/waiting_room.h"

#include "serve/http/server.h"

#include <fmt/format.h>

namespace attend::serve {

std::shared_ptr<const void> WaitingRoom::take(const Amount& wanted, const std::function<Amount()>& waiting,
                                              const Amount& limit) {
  std::unique_lock lock(mutex_);
  const Amount others = waiting();
  const std::size_t prompts = others.prompts + reserved_.prompts, tokens = others.tokens + reserved_.tokens;
  if (prompts > 0 && prompts + wanted.prompts > limit.prompts)
    refuse(429, fmt::format("{} prompts are waiting already, and the limit is {}: try again later", prompts,
                            limit.prompts));
  if (tokens > 0 && tokens + wanted.tokens > limit.tokens)
    refuse(429, fmt::format("prompts of {} tokens are waiting already, and the limit is {}: try again later",
                            tokens, limit.tokens));
  reserved_.prompts += wanted.prompts;
  reserved_.tokens += wanted.tokens;
  lock.unlock();
  const auto give_back = [this, wanted](const void*) {
    const std::lock_guard again(mutex_);
    reserved_.prompts -= wanted.prompts;
    reserved_.tokens -= wanted.tokens;
  };
  return {this, give_back};
}

}  // namespace attend::serve
