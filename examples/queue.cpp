// queue MODEL: goes on with every line of the standard input, many at a time, and prints each as it is done.
//   queue gpt2 <prompts.txt
#include <attend/generation_queue.h>
#include <attend/model.h>

#include <condition_variable>
#include <iostream>
#include <mutex>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: queue MODEL <PROMPTS\n";
    return 2;
  }
  try {
    const attend::Model model(argv[1]);    // tasks of other kinds could share it
    attend::GenerationQueue queue(model);  // any thread may ask it, as a server's would
    std::mutex mutex;
    std::condition_variable done;
    std::size_t open = 0;
    bool failed = false;
    for (std::string line; std::getline(std::cin, line);) {
      {
        const std::lock_guard lock(mutex);
        ++open;
      }
      queue.submit({.prompt = line,
                    .configure =
                        [](attend::GenerationConfig& config) {
                          config.max_new_tokens = 20;
                          config.do_sample = false;
                        },
                    .on_end = [&, line](const attend::QueueResult& result) {  // on the queue's thread
                      const std::lock_guard end(mutex);
                      if (result.end == attend::QueueResult::End::finished)
                        std::cout << line << result.texts.front().text << std::endl;
                      else
                        failed = true;
                      --open;
                      done.notify_one();
                    }});
    }
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return open == 0; });
    return failed ? 1 : 0;
  } catch (const attend::Error& error) {
    std::cerr << "queue: " << error.what() << "\n";
    return 1;
  }
}
