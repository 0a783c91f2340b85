// The file with the lines that were typed in earlier conversations.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attend::cli {

class LineHistory {
 public:
  LineHistory();

  const std::vector<std::string>& lines() const { return lines_; }
  // Appends a line to the file. Without a home directory, or if it cannot be written, it is not kept.
  void add(const std::string& line) const;

 private:
  std::filesystem::path path_;  // empty: no history
  std::vector<std::string> lines_;
};

}  // namespace attend::cli
