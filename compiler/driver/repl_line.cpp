// libedit for a terminal, std::getline for the rest.
#include "compiler/driver/repl_line.h"

#include <histedit.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <filesystem>
#include <istream>

#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

class PlainReader : public LineReader {
 public:
  explicit PlainReader(std::istream& in) : in_(in) {}
  Line read(const std::string&) override {
    std::string text;
    errno = 0;
    if (!std::getline(in_, text)) {
      if (std::ferror(stdin)) throw Fault(5001, {"<stdin>", std::strerror(errno ? errno : EIO)});  // a directory, a disk that fails
      return {Kind::end, {}};
    }
    return {Kind::line, std::move(text)};
  }
  void remember(const std::string&) override {}

 private:
  std::istream& in_;
};

/// `$XDG_STATE_HOME/dslc/history`, else `~/.local/state/dslc/history`; empty: kept nowhere.
std::string history_file() {
  std::filesystem::path folder;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state == '/') {
    folder = state;
  } else if (const char* home = std::getenv("HOME"); home && *home) {
    folder = std::filesystem::path(home) / ".local/state";
  } else {
    return {};
  }
  std::error_code ignored;
  std::filesystem::create_directories(folder / "dslc", ignored);
  return (folder / "dslc/history").string();
}

void on_interrupt(int) {}

/// One character for libedit. Ctrl-C is let through only while this waits, so that none is lost and none strikes elsewhere.
int read_character(EditLine*, wchar_t* character) {
  std::mbstate_t state{};
  while (true) {
    pollfd wait{STDIN_FILENO, POLLIN, 0};
    sigset_t none;
    sigemptyset(&none);
    if (ppoll(&wait, 1, nullptr, &none) < 0) return -1;
    char byte;
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got <= 0) return static_cast<int>(got);
    const size_t length = std::mbrtowc(character, &byte, 1, &state);
    if (length == static_cast<size_t>(-2)) continue;  // the character goes on
    if (length == static_cast<size_t>(-1)) {
      state = {};
      *character = L'\uFFFD';
    }
    return 1;
  }
}

class TerminalReader : public LineReader {
 public:
  explicit TerminalReader(std::function<std::vector<std::string>()> words) : words_(std::move(words)), history_file_(history_file()) {
    if (!std::setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &mask_);
    struct sigaction handle{};
    handle.sa_handler = on_interrupt;
    sigaction(SIGINT, &handle, &action_);
    editor_ = el_init("dslc", stdin, stdout, stderr);
    el_set(editor_, EL_GETCFN, read_character);
    history_ = history_init();
    HistEvent event;
    history(history_, &event, H_SETSIZE, 1000);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!history_file_.empty()) history(history_, &event, H_LOAD, history_file_.c_str());
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &TerminalReader::prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_ADDFN, "dtl-complete", "Complete a name", &TerminalReader::complete);
    el_set(editor_, EL_BIND, "^I", "dtl-complete", nullptr);
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(editor_, nullptr);
  }

  ~TerminalReader() override {
    HistEvent event;
    if (!history_file_.empty()) {
      history(history_, &event, H_SAVE, history_file_.c_str());
      chmod(history_file_.c_str(), 0600);
    }
    history_end(history_);
    el_end(editor_);
    sigaction(SIGINT, &action_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  TerminalReader(const TerminalReader&) = delete;
  TerminalReader& operator=(const TerminalReader&) = delete;

  Line read(const std::string& prompt) override {
    prompt_ = prompt;
    int count = 0;
    el_set(editor_, EL_PREP_TERM, 1);  // before the prompt: what is typed once it shows is for the editor
    errno = 0;
    const char* line = el_gets(editor_, &count);
    const bool interrupted = !line && errno == EINTR;
    if (interrupted) {
      std::fputs("^C\n", stdout);
      el_reset(editor_);
      return {Kind::interrupted, {}};
    }
    if (!line || count <= 0) {
      std::fputs("\n", stdout);
      return {Kind::end, {}};
    }
    std::string text(line, static_cast<size_t>(count));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return {Kind::line, std::move(text)};
  }

  void remember(const std::string& input) override {
    HistEvent event;
    history(history_, &event, H_ENTER, input.c_str());
  }

 private:
  static TerminalReader* self(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return static_cast<TerminalReader*>(data);
  }

  static const char* prompt(EditLine* editor) { return self(editor)->prompt_.c_str(); }

  static unsigned char complete(EditLine* editor, int) {
    const LineInfo* line = el_line(editor);
    const char* begin = line->cursor;
    const auto part_of_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
    };
    while (begin > line->buffer && part_of_name(begin[-1])) --begin;
    const std::string_view typed(begin, static_cast<size_t>(line->cursor - begin));
    std::vector<std::string> found;
    for (std::string& word : self(editor)->words_()) {
      if (word.starts_with(typed)) found.push_back(std::move(word));
    }
    if (found.empty()) return CC_REFRESH_BEEP;
    size_t common = found[0].size();
    for (const std::string& word : found) {
      size_t same = 0;
      while (same < std::min(common, word.size()) && word[same] == found[0][same]) ++same;
      common = same;
    }
    std::string addition = found[0].substr(typed.size(), common - typed.size());
    if (found.size() == 1) addition += ' ';
    if (!addition.empty()) return el_insertstr(editor, addition.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    std::fputs("\n", stdout);
    constexpr size_t kMost = 60;
    for (size_t i = 0; i < std::min(found.size(), kMost); ++i) std::fprintf(stdout, "%s%s", i ? "  " : "", found[i].c_str());
    std::fputs(found.size() > kMost ? "  …\n" : "\n", stdout);
    return CC_REDISPLAY;
  }

  std::function<std::vector<std::string>()> words_;
  std::string history_file_, prompt_;
  EditLine* editor_ = nullptr;
  History* history_ = nullptr;
  sigset_t mask_{};
  struct sigaction action_{};
};

}  // namespace

std::unique_ptr<LineReader> make_terminal_reader(std::function<std::vector<std::string>()> words) {
  return std::make_unique<TerminalReader>(std::move(words));
}

std::unique_ptr<LineReader> make_plain_reader(std::istream& in) { return std::make_unique<PlainReader>(in); }

}  // namespace dtl::driver
