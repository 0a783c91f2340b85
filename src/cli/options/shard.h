// A verb's work on one part of a file that is too large for one process: it reads the lines of that part as
// its standard input and writes a separate file instead of standard output. So any number of processes on any
// number of machines can process the parts, in any order, and the concatenated parts equal the output of one
// process.
#pragma once

#include "cli/options/verb.h"

#include <fstream>

namespace attend::cli {

// --input, --shard, --output.
class Shard {
 public:
  Shard() = default;
  ~Shard();  // without finish(): removes the file
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // `alone`: what --output is without --shard, for a verb that then takes --input and --output too.
  void add_options(CLI::App& app, const std::string& alone = "");
  // Call after parsing: standard input and output are now the part's. False if the part exists already.
  // `others`: whether other texts were given, which is an Error with --input.
  bool begin(bool others);
  bool given() const { return !shard_.empty(); }
  // --output, where it is given without --shard.
  std::string output_alone() const { return given() ? "" : output_; }
  // The part is whole and takes its name; `status` again, which is that of the verb.
  int finish(int status);

 private:
  // Reads the lines that begin in [begin, end) of a file.
  class Lines : public std::streambuf {
   public:
    Lines(const std::string& path, std::uint64_t part, std::uint64_t parts);

   protected:
    int_type underflow() override;

   private:
    std::ifstream file_;
    std::uint64_t left_ = 0;  // remaining bytes
    std::string buffer_;
  };

  // Standard input is now a part of --input.
  void read_input(std::uint64_t part, std::uint64_t parts);

  std::string input_, shard_, output_;
  std::filesystem::path part_, unfinished_;
  std::unique_ptr<Lines> lines_;
  std::streambuf* given_input_ = nullptr;
  int given_output_ = -1;
};

}  // namespace attend::cli
