// attend VERB ...: finds the verb, and turns errors into one line and an exit status (0: done, 1: the work
// failed, 2: a wrong call).
#include <attend/version.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/options/flag_names.h"
#include "cli/options/verb.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include <malloc.h>

namespace attend::cli {
namespace {

void print_help(std::FILE* out) {
  std::fputs(
      "attend trains, fine-tunes, runs, serves and explains Transformers.\n\nattend VERB [options]\n\n", out);
  for (const Verb& verb : verbs()) std::fprintf(out, "  %-12s %s\n", verb.name, verb.summary);
  std::fputs("\n`attend VERB --help` lists the options of a verb, with an example.\n", out);
}

// Returns the memory of large texts to the system when it is freed. By default glibc raises its threshold and
// keeps blocks of up to 32 MiB, for each thread of a server.
void give_large_blocks_back() {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
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
  for (const Verb& verb : verbs())
    if (name == verb.name) return verb.run(argc - 1, argv + 1);
  std::fprintf(stderr, "attend: there is no verb '%s'; `attend --help` lists them\n", name.c_str());
  return 2;
}

// Flushes the output, and fails if it was not written: on a full disk nothing else would report it.
void finish_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    fail("standard output: cannot write: {}", std::strerror(errno));
}

}  // namespace
}  // namespace attend::cli

int main(int argc, char** argv) {
  attend::cli::give_large_blocks_back();
  attend::cli::log_with_flags();
  try {
    const int status = attend::cli::run(argc, argv);
    attend::cli::finish_output();
    return status;
  } catch (const std::bad_alloc&) {
    std::fputs("attend: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attend: %s\n", attend::cli::with_flags(error.what()).c_str());
  }
  return 1;
}
