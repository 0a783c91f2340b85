// chat MODEL [TEMPLATE]: answers line after line of the standard input, each answer as it comes.
//   chat DialoGPT-small
//   chat gpt2 'User: {user}\nBot: {bot}'
#include <attend/tasks.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: chat MODEL [TEMPLATE]\n";
    return 2;
  }
  try {
    attend::ConversationOptions options;
    if (argc == 3) options.chat_template = argv[2];  // else the model has one
    options.configure = [](attend::GenerationConfig& config) {
      config.do_sample = false;
      config.max_new_tokens = 80;
    };
    attend::Conversation conversation(argv[1], options);
    for (std::string question; std::cout << "> " << std::flush && std::getline(std::cin, question);) {
      conversation.answer(question, [](const std::string& more) {  // called for every few letters
        std::cout << more << std::flush;
        return true;  // false would end the answer here
      });
      std::cout << "\n";
    }
    std::cout << "\n";
    return 0;
  } catch (const attend::Error& error) {
    std::cerr << "chat: " << error.what() << "\n";
    return 1;
  }
}
