#include "cli/options/shard.h"

#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

namespace attend::cli {
namespace {

constexpr std::size_t kBuffer = 1 << 16;

// "3/10"
std::pair<std::uint64_t, std::uint64_t> read_shard(const std::string& text) {
  std::uint64_t part = 0, parts = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, part);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') {
    const auto second = std::from_chars(first.ptr + 1, end, parts);
    if (second.ec == std::errc() && second.ptr == end && part < parts && parts <= 10'000'000)
      return {part, parts};
  }
  fail("--shard {}: expected PART/PARTS, the parts counted from 0, such as 3/10", text);
}

// The start of the first line that begins at or after `at`.
std::uint64_t line_from(std::ifstream& file, std::uint64_t at, std::uint64_t size) {
  if (at == 0) return 0;
  file.clear();
  file.seekg(static_cast<std::streamoff>(at - 1));
  char letter = 0;
  while (file.get(letter))
    if (letter == '\n') return static_cast<std::uint64_t>(file.tellg());
  return size;
}

void flush_output() {
  std::cout.flush();
  std::fflush(stdout);
}

}  // namespace

Shard::Lines::Lines(const std::string& path, std::uint64_t part, std::uint64_t parts)
    : file_(path, std::ios::binary), buffer_(kBuffer, '\0') {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error || !file_)
    fail("--input {}: cannot read: {}", path, error ? error.message() : std::strerror(errno));
  const auto cut = [&](std::uint64_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(size) * i / parts);
  };
  const std::uint64_t begin = line_from(file_, cut(part), size);
  const std::uint64_t end = part + 1 == parts ? size : line_from(file_, cut(part + 1), size);
  left_ = end - begin;
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(begin));
}

std::streambuf::int_type Shard::Lines::underflow() {
  const auto wanted = static_cast<std::streamsize>(std::min<std::uint64_t>(left_, buffer_.size()));
  if (wanted == 0) return traits_type::eof();
  file_.read(buffer_.data(), wanted);
  const std::streamsize got = file_.gcount();
  if (got < wanted) fail("--input: the file was truncated while it was read");
  left_ -= static_cast<std::uint64_t>(got);
  setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  return traits_type::to_int_type(buffer_.front());
}

void Shard::add_options(CLI::App& app, const std::string& alone) {
  const std::string in_parts = "the folder for the parts. Parts that are complete are skipped";
  CLI::Option* const input = app.add_option(
      "--input", input_,
      (alone.empty() ? "With --shard: a" : "A") + std::string(" file to read instead of standard input"));
  CLI::Option* const shard = app.add_option("--shard", shard_,
                                            "PART/PARTS, from 0/PARTS: process only this part of the lines "
                                            "of --input, as one of several processes");
  CLI::Option* const output =
      app.add_option("--output", output_, (alone.empty() ? "" : alone + ". ") + "With --shard: " + in_parts);
  shard->needs(input)->needs(output);
  if (!alone.empty()) return;
  input->needs(shard);
  output->needs(shard);
}

bool Shard::begin(bool others) {
  if (others && !input_.empty())
    fail("--input: expected no other texts, because they are read from this file");
  if (shard_.empty()) {
    if (!input_.empty()) read_input(0, 1);
    return true;
  }
  const auto [part, parts] = read_shard(shard_);
  make_directories(output_);
  part_ = std::filesystem::path(output_) / fmt::format("part-{:05}-of-{:05}", part, parts);
  if (std::filesystem::exists(part_)) {
    inform("{} exists already: nothing to do", part_.string());
    return false;
  }
  read_input(part, parts);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  unfinished_ = part_.string() + fmt::format(".{}-{}.unfinished", host, getpid());
  const int file = open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail("{}: cannot write: {}", unfinished_.string(), std::strerror(errno));
  flush_output();
  given_output_ = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  close(file);
  return true;
}

void Shard::read_input(std::uint64_t part, std::uint64_t parts) {
  lines_ = std::make_unique<Lines>(input_, part, parts);
  given_input_ = std::cin.rdbuf(lines_.get());
}

int Shard::finish(int status) {
  if (given_output_ < 0) return status;
  flush_output();
  const bool written = std::cout.good() && std::ferror(stdout) == 0 && fsync(STDOUT_FILENO) == 0;
  if (!written) fail("{}: cannot write: {}", part_.string(), std::strerror(errno));
  std::filesystem::rename(unfinished_, part_);
  unfinished_.clear();
  return status;
}

Shard::~Shard() {
  if (given_input_ != nullptr) std::cin.rdbuf(given_input_);
  if (given_output_ < 0) return;
  flush_output();
  dup2(given_output_, STDOUT_FILENO);
  close(given_output_);
  std::error_code ignored;
  if (!unfinished_.empty()) std::filesystem::remove(unfinished_, ignored);
}

}  // namespace attend::cli
