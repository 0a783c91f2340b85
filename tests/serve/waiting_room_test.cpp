// Room that requests reserve before they are read.
#include "serve/models/waiting_room.h"

#include "expect_error.h"

namespace attend::serve {
namespace {

TEST(WaitingRoom, CountsWhatIsReservedAndWhatWaits) {
  WaitingRoom room;
  WaitingRoom::Amount waiting;
  const WaitingRoom::Amount limit = {4, 100};
  const auto take = [&](std::size_t prompts, std::size_t tokens) {
    return room.take(
        {prompts, tokens}, [&] { return waiting; }, limit);
  };
  auto first = take(2, 10);
  waiting = {1, 30};
  EXPECT_ERROR("3 prompts are waiting already, and the limit is 4: try again later", take(2, 1));
  EXPECT_ERROR("prompts of 40 tokens are waiting already, and the limit is 100: try again later",
               take(1, 61));
  const auto second = take(1, 60);
  EXPECT_ERROR("4 prompts are waiting already", take(1, 0));
  first.reset();
  EXPECT_NO_THROW(take(2, 10));  // and releases it immediately
  EXPECT_NO_THROW(take(2, 10));
}

TEST(WaitingRoom, HasRoomForARequestThatIsAlone) {
  WaitingRoom room;
  const auto nothing = [] { return WaitingRoom::Amount(); };
  const auto large = room.take({9, 1000}, nothing, {4, 100});
  EXPECT_ERROR("9 prompts are waiting already", room.take({1, 1}, nothing, {4, 100}));
}

}  // namespace
}  // namespace attend::serve
