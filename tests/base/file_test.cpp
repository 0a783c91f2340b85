#include "base/file.h"

#include "expect_error.h"
#include "temporary_directory.h"

#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Files may grow to `most` bytes, as on a full disk: beyond that, write() fails instead of raising SIGXFSZ.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {most, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  sighandler_t handler_;
};

TEST(ReadFile, GivesTheBytes) {
  const TemporaryDirectory directory;
  const std::string content("a\0b\r\nc", 6);
  EXPECT_EQ(read_file(directory.file("x", content)), content);
  EXPECT_EQ(read_file(directory.file("empty", "")), "");
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(read_file(directory.file("large", large)), large);
}

TEST(ReadFile, ReadsFilesThatDoNotKnowTheirSize) {
  const TemporaryDirectory directory;
  const fs::path pipe = directory.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string content(300'000, 'y');  // several times the size of a pipe's buffer
  std::jthread writer([&] { std::ofstream(pipe) << content; });
  EXPECT_EQ(read_file(pipe), content);
  EXPECT_FALSE(read_file("/proc/self/status").empty());
}

TEST(ReadFile, NamesTheFileAndTheCause) {
  const TemporaryDirectory directory;
  const fs::path missing = directory.path() / "missing";
  EXPECT_EQ(error_of([&] { read_file(missing); }),
            missing.string() + ": cannot open: No such file or directory");
  EXPECT_TRUE(contains(error_of([&] { read_file(directory.path()); }), "expected a file, found a directory"));
}

TEST(ReadFile, HoldsToItsLimit) {
  const TemporaryDirectory directory;
  const fs::path path = directory.file("ten", "0123456789");
  EXPECT_EQ(read_file(path, 10).size(), 10u);
  EXPECT_TRUE(contains(error_of([&] { read_file(path, 9); }), "longer than the 9 bytes"));
  EXPECT_TRUE(contains(error_of([] { read_file("/dev/zero", 1 << 20); }), "/dev/zero: longer than"));
}

TEST(ReadLines, TakesBothLineEnds) {
  const TemporaryDirectory directory;
  using Lines = std::vector<std::string>;
  EXPECT_EQ(read_lines(directory.file("a", "one\ntwo\r\n\nthree")), (Lines{"one", "two", "", "three"}));
  EXPECT_EQ(read_lines(directory.file("b", "one\n")), Lines{"one"});
  EXPECT_EQ(read_lines(directory.file("c", "")), Lines{});
  EXPECT_EQ(read_lines(directory.file("d", "\n")), Lines{""});
  EXPECT_EQ(read_lines(directory.file("e", "a\rb\n")), Lines{"a\rb"});
}

TEST(ReadLines, NamesTheInvalidLine) {
  const TemporaryDirectory directory;
  const fs::path path = directory.file("x", "fine\nab\xFF\n");
  EXPECT_EQ(error_of([&] { read_lines(path); }), path.string() + ", line 2: invalid UTF-8 at byte 2");
}

TEST(MappedFile, SharesOneMapping) {
  const TemporaryDirectory directory;
  auto first = std::make_unique<MappedFile>(directory.file("x", "abc"));
  const MappedFile second = *first;
  first.reset();
  ASSERT_EQ(second.bytes().size(), 3u);
  EXPECT_EQ(static_cast<char>(second.bytes()[2]), 'c');
  EXPECT_EQ(MappedFile(directory.file("empty", "")).bytes().size(), 0u);
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(contains(error_of([&] { MappedFile{directory.path()}; }), "found a directory"));
  EXPECT_TRUE(contains(error_of([] { MappedFile{"/dev/zero"}; }), "expected a regular file"));
  EXPECT_TRUE(contains(error_of([&] { MappedFile{directory.path() / "no"}; }), "No such file"));
}

TEST(AtomicFile, AppearsWithCommit) {
  const TemporaryDirectory directory;
  const fs::path path = directory.file("x", "old");
  {
    AtomicFile file(path);
    file.write("new ");
    file.write("text");
    EXPECT_EQ(read_file(path), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new text");
  EXPECT_EQ(directory.count(), 1u);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryDirectory directory;
  {
    AtomicFile file(directory.path() / "x");
    file.write("text");
    EXPECT_EQ(directory.count(), 1u);
  }
  EXPECT_EQ(directory.count(), 0u);
}

TEST(AtomicFile, HasTheModeOfAnyNewFile) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "x";
  const mode_t before = umask(027);
  write_file_atomically(path, "text");
  umask(before);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms{0640});
}

TEST(AtomicFile, OnAFullDiskKeepsTheOldFile) {
  const TemporaryDirectory directory;
  const fs::path path = directory.file("x", "old");
  std::string message;
  {
    const FullDisk disk(100'000);
    message = error_of([&] {
      AtomicFile file(path);
      const std::string piece(30'000, 'x');
      for (int i = 0; i < 10; ++i) file.write(piece);
      file.commit();
    });
  }
  EXPECT_EQ(message, path.string() + ": cannot write: File too large");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(directory.count(), 1u);
}

TEST(AtomicFile, CannotBeCommittedAfterAFailedWrite) {
  const TemporaryDirectory directory;
  AtomicFile file(directory.path() / "x");
  {
    const FullDisk disk(10);
    EXPECT_ERROR("cannot write: File too large", file.write("more than ten bytes"));
  }
  EXPECT_ERROR("cannot write: the file is closed", file.write("again"));
  EXPECT_ERROR("cannot write: the file is closed", file.commit());
  EXPECT_EQ(directory.count(), 0u);
}

TEST(AtomicFile, RefusesWhatItWouldDestroy) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(contains(error_of([] { AtomicFile{"/dev/null"}; }), "/dev/null: expected a regular file"));
  EXPECT_TRUE(contains(error_of([&] { AtomicFile{directory.path()}; }), "found a directory"));
  EXPECT_TRUE(contains(error_of([&] { AtomicFile{directory.path() / ""}; }), "expected the name of a file"));
  const fs::path lost = directory.path() / "no" / "x";
  EXPECT_EQ(error_of([&] { AtomicFile{lost}; }), lost.string() + ": cannot create a file in " +
                                                     lost.parent_path().string() +
                                                     ": No such file or directory");
}

TEST(AtomicFile, ReportsAnImpossibleName) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / std::string(300, 'n');
  EXPECT_TRUE(contains(error_of([&] { write_file_atomically(path, "text"); }), "File name too long"));
  EXPECT_EQ(directory.count(), 0u);
}

TEST(AtomicFile, ManyWritersDoNotDisturbEachOther) {
  const TemporaryDirectory directory;
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 8; ++i)
      writers.emplace_back(
          [&, i] { write_file_atomically(directory.path() / "x", std::string(10'000, 'a' + i)); });
  }
  const std::string text = read_file(directory.path() / "x");
  EXPECT_EQ(text, std::string(10'000, text.at(0)));
  EXPECT_EQ(directory.count(), 1u);
}

TEST(DirectoryLock, RemovesPartialFilesOfAKilledProcess) {
  const TemporaryDirectory directory;
  const fs::path left = directory.file(".attend-697-0.tmp", "half"),
                 kept = directory.file("model.tmp", "whole");
  const DirectoryLock lock(directory.path());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(kept));
  const fs::path being_written = directory.file(".attend-698-0.tmp", "half");
  EXPECT_ERROR("another run is writing here", DirectoryLock(directory.path()));
  EXPECT_TRUE(fs::exists(being_written)) << "it is the holder's";
}

}  // namespace
}  // namespace attend
