// attend VERB ...: finds the verb, loads the module that it lies in, and turns errors into one
// line and an exit status (0 done, 1 the work failed, 2 the call was wrong).
#include <attend/log.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/verb.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

namespace attend::cli {
namespace {

void print_help(std::FILE* out) {
  std::fputs(
      "attend trains, fine-tunes, runs, serves and explains Transformers.\n\nattend VERB [options]\n\n", out);
  for (const Verb& verb : verbs()) std::fprintf(out, "  %-12s %s\n", verb.name, verb.summary);
  std::fputs("\n`attend VERB --help` says what a verb takes and shows an example.\n", out);
}

constexpr const char* kTraining = "attend-training.so";
constexpr const char* kServing = "attend-serving.so";

// What libtorch finds set when it is loaded.
void prepare_for_torch() {
  // Tensors come and go with every step. By default glibc gives large ones back to the system each time,
  // which must clear every page of the next one: measured, a quarter of a training step.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  // How often a thread of torch's looks whether another has come before it sleeps. By default that lasts some
  // milliseconds, in which the other may be in need of this very core: beside a program that keeps one of two
  // cores busy, BERT-base's training step took 2.4 s, and so it takes 1.6; alone it takes 0.8 either way.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "3000", /*overwrite=*/0);
}

// A large text's memory goes back to the system when it is freed. By default glibc comes to keep blocks of up
// to 32 MiB for later, and does so for each of the threads of a server.
void give_large_blocks_back() {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

RunVerb find_module_verb(const std::string& name, const std::string& file) {
  if (file == kTraining)
    prepare_for_torch();
  else
    give_large_blocks_back();
  // The module lies where the program's run path says: in lib/ beside it, or as cmake/Install.cmake has it.
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr)
    fail("cannot load the part of attend that has the verb {}{}: {}", name,
         file == kTraining  ? " (a package of its own, attend-training)"
         : file == kServing ? " (a package of its own, attend-serving)"
                            : "",
         dlerror());
  void* symbol = dlsym(module, "attend_find_module_verb");
  if (symbol == nullptr) fail("{} is not of this version of attend: {}", file, dlerror());
  return reinterpret_cast<RunVerb (*)(const char*)>(symbol)(name.c_str());
}

// The same call in a process that loads attend-training.so.
constexpr const char* kBegunAgain = "ATTEND_BEGUN_AGAIN";

bool was_begun_again() {
  return std::getenv(kBegunAgain) != nullptr;
}

[[noreturn]] void begin_again(char** argv) {
  if (was_begun_again()) fail("attend-training.so does not train: it is not of this version of attend");
  setenv(kBegunAgain, "1", /*overwrite=*/1);
  execv("/proc/self/exe", argv);
  fail("cannot begin again with attend-training.so: {}", std::strerror(errno));
}

int run(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    print_help(name.empty() ? stderr : stdout);
    return name.empty() ? 2 : 0;
  }
  if (name == "--version") {
    std::puts("attend " ATTEND_VERSION);
    return 0;
  }
  for (const Verb& verb : verbs()) {
    if (name != verb.name) continue;
    const bool trains = verb.home == Home::training || was_begun_again();
    const char* const module = trains                       ? kTraining
                               : verb.home == Home::serving ? kServing
                                                            : "attend-inference.so";
    const RunVerb run_verb =
        verb.home == Home::program ? find_program_verb(name) : find_module_verb(name, module);
    if (run_verb == nullptr) fail("the verb {} is missing from this build", name);
    try {
      return run_verb(argc - 1, argv + 1);
    } catch (const NeedsTraining&) {
      begin_again(argv);
    }
  }
  std::fprintf(stderr, "attend: there is no verb '%s'; `attend --help` lists them\n", name.c_str());
  return 2;
}

// What was printed has arrived, or the work has failed: on a full disk nobody else would say so.
void finish_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    fail("standard output: cannot write: {}", std::strerror(errno));
}

}  // namespace
}  // namespace attend::cli

int main(int argc, char** argv) {
  attend::log_to_standard_error();
  try {
    const int status = attend::cli::run(argc, argv);
    attend::cli::finish_output();
    return status;
  } catch (const std::bad_alloc&) {
    std::fputs("attend: out of memory\n", stderr);
  } catch (const std::exception& error) {
    // One line: what torch appends after the first line is a stack trace for its own developers.
    const std::string text = error.what();
    std::fprintf(stderr, "attend: %s\n", text.substr(0, text.find('\n')).c_str());
  }
  return 1;
}
