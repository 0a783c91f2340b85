// The queue for texts of programs and the server.
#include <attend/generation_queue.h>
#include <attend/model.h>
#include <attend/tasks.h>

#include "expect_error.h"
#include "tasks/letter_model.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(GenerationQueue, MakesTheSameTextsInAnyCompany) {
  const LetterModel files("gpt2-generation");
  const Model model(files.path());
  const TextGenerator generator(model, GenerationTask::text_generation);
  GenerateTextOptions alone;
  alone.configure =
      with_fields(R"({"max_new_tokens": 9, "do_sample": true, "temperature": 0.9, "pad_token_id": 0})");
  alone.full_text = false;
  GenerationQueue queue(model);
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        std::promise<QueueResult> end;
        std::string written;
        queue.submit({.prompt = kTexts[t],
                      .configure = alone.configure,
                      .seed = seed,
                      .log_probabilities = true,
                      .on_token = [&](const QueueToken& token) { written += token.more; },
                      .on_end = [&](const QueueResult& result) { end.set_value(result); }});
        const QueueResult result = end.get_future().get();
        ASSERT_EQ(result.end, QueueResult::End::finished);
        GenerateTextOptions options = alone;
        options.seed = seed;
        const auto expected = generator.generate_tokens({kTexts[t]}, options).front().front();
        EXPECT_EQ(result.texts.front().ids, expected.ids);
        EXPECT_EQ(result.texts.front().text, written);
        EXPECT_EQ(result.texts.front().log_probabilities.size(), expected.ids.size());
      }
    });
  threads.clear();
  EXPECT_EQ(queue.status().running, 0u);
  EXPECT_GT(queue.status().steps, 0);
}

TEST(GenerationQueue, CancelsAndRefuses) {
  const LetterModel files("gpt2-generation");
  std::promise<QueueResult::End> cancelled, left;
  {
    GenerationQueue queue(files.path());
    EXPECT_ERROR("5000 tokens, but the model reads", queue.submit({.prompt = std::string(5000, 'a')}));
    EXPECT_ERROR("not valid JSON", queue.submit({.prompt = "abc", .configure = with_fields("nothing")}));
    const std::string settings = R"({"max_new_tokens": 20, "do_sample": false, "eos_token_id": null})";
    GenerationQueue::Ticket own = 0;
    std::promise<void> begun;
    own = queue.submit({.prompt = "abc",
                        .configure = with_fields(settings),
                        .on_token =
                            [&, first = true](const QueueToken&) mutable {
                              if (first) begun.set_value();
                              first = false;
                              std::this_thread::sleep_for(std::chrono::milliseconds(2));
                            },
                        .on_end = [&](const QueueResult& result) { cancelled.set_value(result.end); }});
    begun.get_future().wait();
    queue.cancel(own);
    EXPECT_EQ(cancelled.get_future().get(), QueueResult::End::cancelled);
    std::promise<std::string> failed;
    queue.submit({.prompt = "abc",
                  .configure = with_fields(settings),
                  .on_token = [](const QueueToken&) { throw Error("enough"); },
                  .on_end =
                      [&](const QueueResult& result) {
                        failed.set_value(error_of([&] { std::rethrow_exception(result.error); }));
                      }});
    EXPECT_EQ(failed.get_future().get(), "enough");
    queue.submit(
        {.prompt = "abc",
         .configure = with_fields(settings),
         .on_token = [](const QueueToken&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); },
         .on_end = [&](const QueueResult& result) { left.set_value(result.end); }});
  }
  EXPECT_EQ(left.get_future().get(), QueueResult::End::cancelled);
}

QueueResult result_of(GenerationQueue& queue, QueueRequest request) {
  std::promise<QueueResult> end;
  request.on_end = [&](const QueueResult& result) { end.set_value(result); };
  queue.submit(std::move(request));
  return end.get_future().get();
}

TEST(GenerationQueue, TextsEndBeforeWhatStopsThem) {
  const LetterModel files("gpt2-generation");
  GenerationQueue queue(files.path());
  const std::string settings = R"({"max_new_tokens": 9, "do_sample": false, "eos_token_id": null})";
  const QueueResult whole = result_of(queue, {.prompt = "abc", .configure = with_fields(settings)});
  const std::string text = whole.texts.front().text;
  EXPECT_TRUE(whole.texts.front().cut_off);
  EXPECT_EQ(whole.prompt_tokens, 3u);
  ASSERT_GE(text.size(), 6u);
  const std::string stop = text.substr(3, 2);
  const std::string with_stop =
      R"({"max_new_tokens": 9, "do_sample": false, "eos_token_id": null, "stop_strings": [")" + stop + "\"]}";
  const std::size_t at = text.find(stop);
  for (const bool shows : {true, false}) {
    std::string written;
    const QueueResult stopped =
        result_of(queue, {.prompt = "abc",
                          .configure = with_fields(with_stop),
                          .shows_stop = shows,
                          .on_token = [&](const QueueToken& token) { written += token.more; }});
    // A token can hold more than the rest of the stop string.
    const std::string ended = stopped.texts.front().text;
    EXPECT_EQ(ended.substr(0, at + stop.size()), text.substr(0, at + (shows ? stop.size() : 0)));
    EXPECT_LT(ended.size(), text.size());
    EXPECT_TRUE(stopped.texts.front().text.starts_with(written));
    EXPECT_FALSE(stopped.texts.front().cut_off);
  }
}

// Its own stop strings make a request end early where the prompt may be part of them, and rightly say so.
TEST(GenerationQueue, StopStringsThatBeginInThePrompt) {
  const LetterModel files("gpt2-generation");
  GenerationQueue queue(files.path());
  Json settings = {{"max_new_tokens", 9}, {"do_sample", false}, {"eos_token_id", nullptr}};
  const std::string text =
      result_of(queue, {.prompt = "abc", .configure = with_fields(settings.dump())}).texts.front().text;
  const std::string across = "c" + text.substr(0, 2);
  ASSERT_EQ(text.find(across), text.npos);
  settings["stop_strings"] = {across};
  const GeneratedText shown =
      result_of(queue, {.prompt = "abc", .configure = with_fields(settings.dump())}).texts.front();
  EXPECT_EQ(shown.ids.size(), 1u);
  EXPECT_FALSE(shown.cut_off);
  const GeneratedText whole =
      result_of(queue, {.prompt = "abc", .configure = with_fields(settings.dump()), .shows_stop = false})
          .texts.front();
  EXPECT_EQ(whole.text, text);
  EXPECT_TRUE(whole.cut_off);
}

TEST(GenerationQueue, CallbacksComeOnceAndFromItsThread) {
  const LetterModel files("gpt2-generation");
  const std::string settings = R"({"max_new_tokens": 20, "do_sample": false, "eos_token_id": null})";
  std::vector<int> ends(8, 0);
  std::vector<std::string> refusals;
  bool own_thread = true;
  {
    GenerationQueue queue(files.path());
    std::vector<GenerationQueue::Ticket> tickets;
    for (std::size_t i = 0; i < ends.size(); ++i)
      tickets.push_back(queue.submit(
          {.prompt = "abc",
           .configure = with_fields(settings),
           .on_token = [](const QueueToken&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); },
           .on_end =
               [&, i, here = std::this_thread::get_id()](const QueueResult&) {
                 ++ends[i];
                 own_thread = own_thread && std::this_thread::get_id() != here;
                 try {
                   queue.submit({.prompt = "abc", .configure = with_fields(settings)});
                 } catch (const Error& error) {
                   refusals.push_back(error.what());
                 }
               }}));
    queue.cancel(tickets[3]);
    queue.cancel(tickets[7]);
  }
  EXPECT_EQ(ends, std::vector<int>(8, 1));
  EXPECT_TRUE(own_thread);
  ASSERT_FALSE(refusals.empty());  // while the queue ended
  EXPECT_TRUE(contains(refusals.back(), "takes no more"));
}

TEST(GenerationQueue, LimitsPromptsAndTheirWaiting) {
  const LetterModel files("gpt2-generation");
  // Only one prompt that must be read whole is processed at a time, so the second one waits.
  GenerationQueue queue(
      files.path(),
      {.prompt_step_tokens = 0, .batch_tokens = 4, .max_prompt_tokens = 3, .max_queue_seconds = 0.02});
  const std::string settings = R"({"max_new_tokens": 30, "do_sample": false, "eos_token_id": null})";
  EXPECT_ERROR("the prompt has 4 tokens: expected at most 3", queue.submit({.prompt = "abca"}));
  std::promise<QueueResult> first, second;
  queue.submit(
      {.prompt = "abc",
       .configure = with_fields(settings),
       .on_token = [](const QueueToken&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); },
       .on_end = [&](const QueueResult& result) { first.set_value(result); }});
  queue.submit({.prompt = "bca",
                .configure = with_fields(settings),
                .on_end = [&](const QueueResult& result) { second.set_value(result); }});
  EXPECT_EQ(queue.status().waiting_tokens % 3, 0u);
  const QueueResult late = second.get_future().get();
  EXPECT_EQ(late.end, QueueEnd::failed);
  EXPECT_THROW(std::rethrow_exception(late.error), WaitedTooLong);
  EXPECT_EQ(first.get_future().get().end, QueueEnd::finished);
}

TEST(GenerationQueue, NoMemoryEndsARequestAndNotTheProcess) {
  const LetterModel files("gpt2-generation");
  GenerationQueue queue(files.path());
  const std::string settings = R"({"max_new_tokens": 5, "do_sample": false})";
  const QueueResult failed = result_of(
      queue, {.prompt = "abc", .configure = with_fields(settings), .on_token = [](const QueueToken&) {
                throw std::bad_alloc();
              }});
  EXPECT_EQ(failed.end, QueueEnd::failed);
  EXPECT_THROW(std::rethrow_exception(failed.error), std::bad_alloc);
  EXPECT_EQ(result_of(queue, {.prompt = "abc", .configure = with_fields(settings)}).end, QueueEnd::finished);
}

TEST(GenerationQueue, AnswersAsAConversationDoes) {
  const LetterModel files("gpt2-generation");
  const Model model(files.path());
  const std::string chat_template = "u{user}b{bot}",
                    settings = R"({"max_new_tokens": 12, "do_sample": false})";
  GenerationQueue queue(model, {.chat_template = chat_template});
  EXPECT_EQ(queue.no_conversations(), "");
  Conversation conversation(
      model, {.system = "ab", .chat_template = chat_template, .configure = with_fields(settings)});
  std::vector<ChatMessage> messages = {{"system", "ab"}};
  for (const char* question : {"cab", "a"}) {
    messages.push_back({"user", question});
    const QueueResult result = result_of(queue, {.messages = messages, .configure = with_fields(settings)});
    ASSERT_EQ(result.end, QueueEnd::finished);
    messages.push_back({"assistant", conversation.answer(question)});
    EXPECT_EQ(result.texts.front().text, messages.back().content);
  }
  EXPECT_ERROR("expected a last message of user", queue.submit({.messages = messages}));  // there is no
                                                                                          // question
  EXPECT_ERROR("message 2: expected one of assistant, found one of 'user'",
               queue.submit({.messages = {{"user", "a"}, {"user", "b"}}}));
  EXPECT_ERROR("expected a prompt or messages, found both",
               queue.submit({.prompt = "a", .messages = {{"user", "a"}}}));
  GenerationQueue without(model);
  EXPECT_NE(without.no_conversations(), "");
  EXPECT_ERROR("there is none; say how a turn is written", without.submit({.messages = {{"user", "a"}}}));
}

}  // namespace
}  // namespace attend
