// Output on standard error: log lines and progress, on a terminal and elsewhere; and interrupts.
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "temporary_directory.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attend {
namespace {

using namespace std::chrono_literals;

struct Outcome {
  std::string written;  // to standard error
  int status;           // as waitpid gives it
};

// A process that runs `work` with `theirs` as its standard error, while the test holds the other end.
class Child {
 public:
  Child(int ours, int theirs, const std::function<void()>& work) : ours_(ours), process_(fork()) {
    if (process_ == 0) {
      dup2(theirs, STDERR_FILENO);
      work();
      _exit(0);
    }
    close(theirs);
  }

  Outcome finish() {
    Outcome outcome;
    char buffer[4096];
    // A terminal whose other end is closed gives an error instead of the end of the file.
    for (ssize_t got; (got = read(ours_, buffer, sizeof buffer)) > 0;)
      outcome.written.append(buffer, static_cast<std::size_t>(got));
    close(ours_);
    waitpid(process_, &outcome.status, 0);
    return outcome;
  }

 private:
  int ours_;
  pid_t process_;
};

Child start_on_pipe(const std::function<void()>& work) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  return Child(ends[0], ends[1], work);
}

Child start_on_terminal(unsigned short columns, const std::function<void()>& work) {
  int ours, theirs;
  const winsize size = {24, columns, 0, 0};
  EXPECT_EQ(openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
  return Child(ours, theirs, [&] {
    setenv("TERM", "xterm", 1);
    work();
  });
}

Outcome run_on_pipe(const std::function<void()>& work) {
  return start_on_pipe(work).finish();
}

void work_for(std::chrono::milliseconds time) {
  Progress progress("train", 1000, "steps");
  const auto end = std::chrono::steady_clock::now() + time;
  for (std::uint64_t done = 0; std::chrono::steady_clock::now() < end; ++done) {
    progress.update(done, "loss 3.21");
    std::this_thread::sleep_for(20ms);
  }
}

TEST(Log, MarksWarnings) {
  const Outcome outcome = run_on_pipe([] {
    inform("read {} sentences", 7);
    warn("line {} is empty", 3);
    set_quiet(true);
    inform("not said");
    warn("still said");
  });
  EXPECT_EQ(outcome.written,
            "attend: read 7 sentences\nattend: warning: line 3 is empty\nattend: warning: still said\n");
}

TEST(Log, SurvivesAClosedStandardError) {
  const Outcome outcome = run_on_pipe([] {
    close(STDERR_FILENO);
    warn("into nothing");
  });
  EXPECT_TRUE(WIFEXITED(outcome.status));
}

TEST(Progress, DescribesTheWork) {
  ProgressState state = {.label = "train", .unit = "steps", .note = "loss 3.21", .done = 20, .total = 100};
  EXPECT_EQ(describe(state), "train: 20/100 steps, loss 3.21");
  state.per_second = 4;
  EXPECT_EQ(describe(state), "train: 20/100 steps, 4.0 steps/s, 0:20 left, loss 3.21");
  state.per_second = 0.01;
  EXPECT_EQ(describe(state), "train: 20/100 steps, 0.010 steps/s, 2:13:20 left, loss 3.21");
  state.per_second = 1e-9;  // 2,500 years are not shown
  EXPECT_EQ(describe(state), "train: 20/100 steps, 0.000 steps/s, loss 3.21");
  state.per_second = 1234.5, state.total = 0;
  EXPECT_EQ(describe(state), "train: 20 steps, 1234 steps/s, loss 3.21");
  state.finished = true, state.elapsed = 61, state.note = "";
  EXPECT_EQ(describe(state), "train: 20 steps, 1234 steps/s, took 1:01");
}

// In parallel, because both must wait for the two seconds of silence.
TEST(Progress, SpeaksAfterTwoSeconds) {
  Child brief = start_on_pipe([] { work_for(300ms); });
  Child silenced = start_on_pipe([] {
    set_quiet(true);
    work_for(2300ms);
  });
  Child plain = start_on_pipe([] { work_for(2300ms); });
  Child terminal = start_on_terminal(40, [] {
    work_for(2300ms);
    inform("done");
  });
  Child warning = start_on_terminal(40, [] {
    Progress progress("count", 0, "things");
    std::this_thread::sleep_for(2100ms);
    progress.update(1);
    warn("beware");
    _exit(0);
  });

  EXPECT_EQ(brief.finish().written, "");
  EXPECT_EQ(silenced.finish().written, "");

  // One line after the silence, one at the end; no control characters.
  const std::string lines = plain.finish().written;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
  EXPECT_TRUE(lines.starts_with("attend: train: ")) << lines;
  EXPECT_TRUE(contains(lines, "/1000 steps, "));
  EXPECT_TRUE(contains(lines, ", loss 3.21\n"));
  EXPECT_EQ(lines.find_first_of("\r\x1b"), std::string::npos);

  // Rewritten in place, cut to the width of the terminal, ended by one line feed; later output has its own
  // line.
  const std::string rewritten = terminal.finish().written;
  EXPECT_GE(std::ranges::count(rewritten, '\r'), 2);
  EXPECT_TRUE(rewritten.starts_with("\r[")) << rewritten;
  EXPECT_EQ(rewritten.find('\x1b'), 40u) << rewritten;
  EXPECT_TRUE(contains(rewritten, "\nattend: done\r\n"));

  EXPECT_EQ(warning.finish().written, "\rcount: 1 things\x1b[K\r\x1b[Kattend: warning: beware\r\n");
}

TEST(Interrupt, FirstAsksSecondEnds) {
  const Outcome first = run_on_pipe([] {
    std::signal(SIGINT, SIG_DFL);  // the tests may run in the background of a shell, which ignores it
    catch_interrupts();
    if (interrupted()) _exit(1);
    std::raise(SIGINT);
    _exit(interrupted() ? 42 : 2);
  });
  ASSERT_TRUE(WIFEXITED(first.status));
  EXPECT_EQ(WEXITSTATUS(first.status), 42);

  const Outcome second = run_on_pipe([] {
    std::signal(SIGINT, SIG_DFL);
    catch_interrupts();
    std::raise(SIGINT);
    std::raise(SIGTERM);
    _exit(0);
  });
  ASSERT_TRUE(WIFSIGNALED(second.status));
  EXPECT_EQ(WTERMSIG(second.status), SIGTERM);
}

TEST(Interrupt, LeavesIgnoredSignalsIgnored) {
  const Outcome outcome = run_on_pipe([] {
    std::signal(SIGINT, SIG_IGN);
    catch_interrupts();
    std::raise(SIGINT);
    _exit(interrupted() ? 1 : 0);
  });
  EXPECT_EQ(outcome.status, 0);
}

}  // namespace
}  // namespace attend
