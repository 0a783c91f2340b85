#include "cli/options/line_editor.h"

#ifdef ATTEND_EDITS_LINES

#include "base/interrupt.h"
#include "base/utf8.h"
#include "cli/options/line_history.h"

#include <clocale>
#include <cstdio>
#include <string_view>

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

namespace attend::cli {
namespace {

constexpr char kControlC = 3;
constexpr int kLinesInMemory = 1000;

// With libedit, which shows characters by the locale.
class LibeditLines : public LineEditor {
 public:
  LibeditLines() {
    std::setlocale(LC_CTYPE, "");
    if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
    history_ = history_init();
    HistEvent event;
    history(history_, &event, H_SETSIZE, kLinesInMemory);
    history(history_, &event, H_SETUNIQUE, 1);
    for (const std::string& line : file_.lines()) history(history_, &event, H_ENTER, line.c_str());
    editor_ = el_init("attend", stdin, stdout, stderr);
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &LibeditLines::prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_BIND, "^I", "ed-insert", nullptr);  // a tab is text
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(editor_, EL_GETCFN, &LibeditLines::read_character);
    el_source(editor_, nullptr);  // the user's own settings: ~/.editrc
  }
  ~LibeditLines() override {
    el_end(editor_);
    history_end(history_);
  }
  LibeditLines(const LibeditLines&) = delete;
  LibeditLines& operator=(const LibeditLines&) = delete;

  std::optional<std::string> next(const std::string& prompt, bool& interrupted) override {
    prompt_ = prompt;
    interrupted_ = false;
    el_resize(editor_);
    // Before the prompt is shown: libedit does it after, and the terminal drops a Ctrl-D typed in between.
    el_set(editor_, EL_PREP_TERM, 1);
    int size = 0;
    const char* read = el_gets(editor_, &size);
    if (interrupted_) {
      interrupted = true;
      el_reset(editor_);
      return std::string();
    }
    if (read == nullptr || size <= 0) {
      std::fputs("\n", stdout);
      std::fflush(stdout);
      return std::nullopt;
    }
    take_interrupt();  // one that came just before the line is not about its answer, nor the first of two
    std::string line(read, static_cast<std::size_t>(size));
    if (line.ends_with('\n')) line.pop_back();
    keep(line);
    return line;
  }

 private:
  static LibeditLines* self(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return static_cast<LibeditLines*>(self);
  }

  static char* prompt(EditLine* editor) { return self(editor)->prompt_.data(); }

  // 1: a character, 0: the end, -1: Ctrl-C.
  static int read_character(EditLine* editor, wchar_t* to) {
    std::string bytes;
    std::size_t size = 1;
    while (bytes.size() < size) {
      for (pollfd input = {STDIN_FILENO, POLLIN, 0}; poll(&input, 1, 100) <= 0;)
        if (take_interrupt()) return self(editor)->interrupt();
      char byte = 0;
      if (read(STDIN_FILENO, &byte, 1) != 1) return 0;
      if (byte == kControlC) return self(editor)->interrupt();
      const auto first = static_cast<unsigned char>(byte);
      if (bytes.empty()) size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
      bytes += byte;
    }
    *to = static_cast<wchar_t>(find_invalid_utf8(bytes) ? U'\uFFFD' : decode_utf8(bytes, 0).value);
    return 1;
  }

  int interrupt() {
    interrupted_ = true;
    return -1;
  }

  void keep(const std::string& line) {
    if (line.starts_with(' ') || line.find_first_not_of(" \t") == line.npos) return;
    HistEvent event;
    history(history_, &event, H_ENTER, line.c_str());
    file_.add(line);
  }

  LineHistory file_;
  std::string prompt_;
  bool interrupted_ = false;
  History* history_ = nullptr;
  EditLine* editor_ = nullptr;
};

}  // namespace

std::unique_ptr<LineEditor> make_line_editor() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return nullptr;
  return std::make_unique<LibeditLines>();
}

}  // namespace attend::cli

#else

namespace attend::cli {

std::unique_ptr<LineEditor> make_line_editor() {
  return nullptr;
}

}  // namespace attend::cli

#endif
