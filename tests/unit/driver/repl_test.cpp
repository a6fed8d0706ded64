// dslc repl: through pipes as a script uses it, through a pseudo-terminal as a person does.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "compiler/driver/options.h"

namespace dtl::driver {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

/// A home of its own, so that histories and caches are the test's.
class Home {
 public:
  Home() : path_((fs::temp_directory_path() / "repl-XXXXXX").string()) { REQUIRE(mkdtemp(path_.data())); }
  ~Home() { fs::remove_all(path_); }
  fs::path path() const { return path_; }
  void enter() const {
    setenv("HOME", path_.c_str(), 1);
    unsetenv("XDG_STATE_HOME");
    setenv("TERM", "xterm", 1);
  }

 private:
  std::string path_;
};

[[noreturn]] void be_repl(const Home& home, Words words) {
  home.enter();
  words.insert(words.begin(), "repl");
  const int status = run(words, std::cout, std::cerr);
  std::cout.flush();
  std::cerr.flush();
  _exit(status);
}

struct Ran {
  std::string text;
  int status;
};

/// Input and output through pipes; both streams of output are one.
Ran script(const std::string& input, const Words& words = {}, fs::path in = {}) {
  const Home home;
  if (in.empty()) {
    in = home.path() / "input";
    std::ofstream(in) << input;
  }
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(in.c_str(), O_RDONLY);
    dup2(file, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    be_repl(home, words);
  }
  close(ends[1]);
  Ran ran{{}, -1};
  char chunk[4096];
  for (ssize_t got; (got = read(ends[0], chunk, sizeof chunk)) > 0;) ran.text.append(chunk, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

class Terminal {
 public:
  explicit Terminal(const Home& home) {
    child_ = forkpty(&end_, nullptr, nullptr, nullptr);
    if (child_ == 0) be_repl(home, {});
    REQUIRE(child_ > 0);
  }
  ~Terminal() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(end_);
  }

  void type(const std::string& text) const { REQUIRE(write(end_, text.data(), text.size()) == static_cast<ssize_t>(text.size())); }

  /// Whether `text` is shown after what was expected before.
  bool shows(const std::string& text, double seconds = 60) {
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
    while (true) {
      if (const size_t at = screen_.find(text, seen_); at != std::string::npos) {
        seen_ = at + text.size();
        return true;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return gives_up(text);
      pollfd wait{end_, POLLIN, 0};
      if (poll(&wait, 1, static_cast<int>(left)) <= 0) continue;
      char chunk[4096];
      const ssize_t got = read(end_, chunk, sizeof chunk);
      if (got <= 0) return gives_up(text);
      screen_.append(chunk, static_cast<size_t>(got));
    }
  }

  bool gives_up(const std::string& text) const {
    UNSCOPED_INFO("no `" << text << "` after " << screen_.substr(seen_));
    return false;
  }

  /// Whether a child of it comes to work.
  bool computes() const {
    const std::string file = fmt::format("/proc/{}/task/{}/children", child_, child_);
    for (const Clock::time_point deadline = Clock::now() + std::chrono::seconds(20); Clock::now() < deadline;) {
      std::string children;
      std::getline(std::ifstream(file), children);
      if (!children.empty()) return true;
      usleep(1000);
    }
    return false;
  }

  /// Its exit status, once it ends by itself.
  int status() const {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& screen() const { return screen_; }

 private:
  pid_t child_ = -1;
  int end_ = -1;
  std::string screen_;
  size_t seen_ = 0;
};

}  // namespace

TEST_CASE("expressions are evaluated at once, with their types") {
  const Ran ran = script("1 + 2\n2.5 * iota([2, 3])\nlet x = full([2], 3.0)\nsum(x * x)\nit + 1\n(x, 7)\n[1, 2]\n\"a\"\ntrue and false\n");
  CHECK(ran.text ==
        "3\n"
        "f32[2, 3]\n[[  0,   0,   0],\n [2.5, 2.5, 2.5]]\n"
        "x: f32[2] [3, 3]\n"
        "f32[] 18\n"
        "f32[] 19\n"
        ".0: f32[2] [3, 3]\n"
        "[1, 2]\n"
        "\"a\"\n"
        "false\n");
  CHECK(ran.status == 0);
}

TEST_CASE("a name given anew keeps what spoke of it") {
  const Ran ran = script(
      "let x = 1\nlet x = x + 1\nx\nlet y = x + 1\nlet x = tensor([1.0, 2.0])\ny\nlet y = x * y\nlet x = 7\ny\nx\n"
      "let f = a => a + x\nlet x = 100\nf(1)\n");
  CHECK(ran.text == "2\nx: f32[2] [1, 2]\n3\ny: f32[2] [3, 6]\nf32[2] [3, 6]\n7\n8\n");
  CHECK(ran.status == 0);
}

TEST_CASE("a function keeps what its names meant where it was written") {
  const Ran ran = script(
      "fn g (a: int) -> int {\nlet x = 1\nlet f = (b => b + x)\nlet x = x + 100\nf(a) + x\n}\ng(1)\nlet t = 5\nlet t = (a => a * "
      "t)\nt(2)\n");
  CHECK(ran.text == "103\n10\n");
}

TEST_CASE("declarations are kept, and given anew") {
  const Ran ran = script(
      "fn f (x: float[...]) -> float[...] { x + 1 }\n"
      "f(ones([2]))\n"
      "fn f (x: float[...]) -> float[...] { x + 2 }\n"
      "f(ones([2]))\n"
      "model Net (x: f32[b, 3]) -> f32[b, 2] {\n"
      "  weight w: f32[3, 2] = 0.5\n"
      "  matmul(x, w)\n"
      "}\n"
      "Net(ones([1, 3]))\n"
      "let n = 4\n"
      "let g = y => y * n\n"
      "g(ones([1]))\n");
  CHECK(ran.text == "f32[2] [2, 2]\nf32[2] [3, 3]\nf32[1, 2] [[1.5, 1.5]]\nf32[1] [4]\n");
  CHECK(ran.status == 0);
}

TEST_CASE("a mistake is told and changes nothing") {
  const Ran ran = script(
      "let x = ones([2])\nlet x = foo(3)\nx\nfn f (x: float[...]) -> float[...] { y }\nf(x)\nx <- 3\n:nope\n:type\nmatmul(x, ones([3, "
      "3]))\nx[5]\n1 +\n\nx\n");
  for (const char* code : {"DTL1001", "DTL3008", "DTL2003", "DTL2010", "DTL0003"}) {
    INFO(code << " in\n" << ran.text);
    CHECK(ran.text.find(code) != std::string::npos);
  }
  CHECK(ran.text.find("there is no command `:nope`") != std::string::npos);
  CHECK(ran.text.ends_with("f32[2] [1, 1]\n"));
  CHECK(ran.status == 1);
}

TEST_CASE("derivatives by what an expression reads") {
  const Ran ran =
      script("let w = full([2], 3.0)\nlet v = ones([2])\n:gradient sum(w * w)\n:gradient sum(w * v)\n:gradient w\n:gradient 3\n");
  CHECK(ran.text.find("d/d w: f32[2] [6, 6]\nd/d v: f32[2] [3, 3]\nd/d w: f32[2] [1, 1]\n") != std::string::npos);
  CHECK(ran.text.find("DTL2033") != std::string::npos);
  CHECK(ran.text.find("DTL2007") != std::string::npos);
}

TEST_CASE("commands show types, graphs and placements") {
  const Ran ran = script(
      ":type normal([3, 4])\n:graph sum(ones([2]))\n:strategy\n:strategy mirrored(replicas = 2)\n:strategy\n:strategy "
      "mirrord()\n:strategy\n"
      ":replicated sum(ones([2]))\n:list\n:help\n");
  CHECK(ran.text.starts_with("f32[3, 4]\n"));
  CHECK(ran.text.find("reduce(") != std::string::npos);
  CHECK(ran.text.find("none is set") != std::string::npos);
  CHECK(ran.text.find("mesh data = 2") != std::string::npos);
  CHECK(ran.text.find("did you mean `mirrored`?") != std::string::npos);
  CHECK(ran.text.find(":train [anew] N steps") != std::string::npos);
}

TEST_CASE("random numbers differ from input to input and are the same in every session") {
  const std::string input = "normal([3])\nnormal([3])\n";
  const Ran first = script(input), second = script(input);
  CHECK(first.text == second.text);
  const std::string line = first.text.substr(0, first.text.find('\n'));
  CHECK(first.text != line + "\n" + line + "\n");
}

TEST_CASE("training goes on where it stood, and expressions see its weights") {
  const std::string program =
      "dataset Points {\n train = synthetic(96, seed = 1, fields = { x = normal([4]), y = normal([3]) })\n batch = 32\n shuffle = all\n}\n"
      "model Net (x: f32[batch, 4]) -> f32[batch, 3] { x |> dense(5, activation = tanh) |> dropout(0.5) |> dense(3) }\n"
      "train { model = Net, data = Points, loss = mean(squared_error(prediction, y)), optimizer = adam(0.01), epochs = 1 }\n";
  const auto last = [](const std::string& text) { return text.substr(text.rfind("f32[1, 3]")); };
  const std::string parts = script(program + ":train 4 steps\n:train 3 steps\nNet(ones([1, 4]))\n").text;
  const std::string whole = script(program + ":train 9 steps\n:train anew 7 steps\nNet(ones([1, 4]))\n").text;
  const std::string untrained = script(program + "Net(ones([1, 4]))\n").text;
  INFO(parts);
  CHECK(parts.find("resumed from") != std::string::npos);
  CHECK(last(parts) == last(whole));
  CHECK(last(parts) != last(untrained));

  const Ran changed = script(program +
                             ":train 1 step\nmodel Net (x: f32[batch, 4]) -> f32[batch, 3] { dense(3)(x) }\n:train 1 step\n"
                             ":train anew 1 step\n:train nothing\n:train -1 steps\n");
  INFO(changed.text);
  CHECK(changed.text.find("`:train anew 1 steps` begins anew") != std::string::npos);
  CHECK(changed.text.rfind("done after") > changed.text.find("begins anew"));
  CHECK(changed.text.find(":train takes a number of steps") != std::string::npos);
  CHECK(script(":train 3 steps\n").text.find("DTL3017") != std::string::npos);
}

TEST_CASE("a warning is told once, and a file's mistakes are not counted") {
  const Home home;
  std::ofstream(home.path() / "rows.csv") << "x\n1\nodd\n2.5\n3\n";
  std::ofstream(home.path() / "rows.dtl")
      << "dataset Rows {\n  train = csv(\"rows.csv\")\n  batch = 2\n  on_error = skip(limit = 1)\n  example (x: float) { x = x }\n}\n"
         "model Net (x: f32[batch]) -> f32[batch] { expand(x, axis = -1) |> dense(1) |> squeeze(axis = -1) }\n"
         "train { model = Net, data = Rows, loss = mean(prediction ** 2), optimizer = sgd(0.1), epochs = 1 }\n";
  std::ofstream(home.path() / "wrong.dtl") << "fn f (x: f32) -> f32 { y }\n";
  const std::string load = ":load " + (home.path() / "rows.dtl").string() + "\n";
  const Ran ran = script(load + "1 + 1\n:train 2 steps\n:graph\nNet(ones([2]))\n:load " + (home.path() / "wrong.dtl").string() + "\n");
  INFO(ran.text);
  const size_t first = ran.text.find("warning[DTL5114]");
  REQUIRE(first != std::string::npos);
  CHECK(ran.text.find("warning[DTL5114]", first + 1) == std::string::npos);
  CHECK(ran.text.find("done after") != std::string::npos);
  CHECK(ran.text.find("DTL1001") != std::string::npos);
  CHECK(ran.text.find("wrong.dtl: 1 error") == std::string::npos);
}

TEST_CASE("what cannot be read as an input ends with an error") {
  const Ran ran = script("", {}, "/");
  CHECK(ran.status == 2);
  CHECK(ran.text == "error[DTL5001]: cannot read `<stdin>`: Is a directory\n");
}

TEST_CASE("a terminal: editing, several lines, completion, history, leaving") {
  const Home home;
  {
    Terminal terminal(home);
    REQUIRE(terminal.shows("dtl> "));
    terminal.type("1 + 2\r");
    REQUIRE(terminal.shows("3\r\n"));
    REQUIRE(terminal.shows("dtl> "));
    terminal.type("sum([1,\r");
    REQUIRE(terminal.shows("...> "));
    terminal.type("\x03");
    REQUIRE(terminal.shows("^C"));
    REQUIRE(terminal.shows("dtl> "));
    terminal.type("let zzz = iot\t\x7f([2])\r");  // TAB completes, and adds a blank
    REQUIRE(terminal.shows("zzz: i32[2] [0, 1]"));
    REQUIRE(terminal.shows("dtl> "));
    terminal.type("zz\t+ 1\r");
    REQUIRE(terminal.shows("i32[2] [1, 2]"));
    REQUIRE(terminal.shows("dtl> "));
    terminal.type("nothing_of_the_kind\r");
    REQUIRE(terminal.shows("DTL1001"));
    REQUIRE(terminal.shows("dtl> "));
    terminal.type("40 + 2\r");
    REQUIRE(terminal.shows("42\r\n"));
    REQUIRE(terminal.shows("dtl> "));
    terminal.type("\x04");
    CHECK(terminal.status() == 0);
  }
  CHECK(fs::exists(home.path() / ".local/state/dslc/history"));
  Terminal again(home);
  REQUIRE(again.shows("dtl> "));
  again.type("\x1b[A\r");  // the arrow up: the last input of the session before
  CHECK(again.shows("42\r\n"));
}

TEST_CASE("Ctrl-C stops the computation, not the session") {
  const Home home;
  Terminal terminal(home);
  REQUIRE(terminal.shows("dtl> "));
  terminal.type("let kept = 11\r");
  REQUIRE(terminal.shows("dtl> "));
  terminal.type("fold(0 .. 1000, ones([4000, 4000]), (x, i) => matmul(x, x) / 4000)\r");  // hours of work
  REQUIRE(terminal.computes());
  bool stopped = false;
  for (int tries = 0; tries < 50 && !stopped; ++tries) {
    terminal.type("\x03");
    stopped = terminal.shows("stopped", 1);
  }
  REQUIRE(stopped);
  REQUIRE(terminal.shows("dtl> "));
  terminal.type("kept * 3\r");
  CHECK(terminal.shows("33\r\n"));
}

TEST_CASE("Ctrl-C in training says how it goes on here") {
  const Home home;
  Terminal terminal(home);
  REQUIRE(terminal.shows("dtl> "));
  terminal.type("dataset Points { train = synthetic(96, fields = { x = normal([4]) }), batch = 32 }\r");
  REQUIRE(terminal.shows("dtl> "));
  terminal.type("model Net (x: f32[batch, 4]) -> f32[batch, 3] { dense(3)(x) }\r");
  REQUIRE(terminal.shows("dtl> "));
  terminal.type("train { model = Net, data = Points, loss = mean(prediction ** 2), optimizer = sgd(0.01), epochs = 1 }\r");
  REQUIRE(terminal.shows("dtl> "));
  terminal.type(":train 2000000000 steps\r");
  REQUIRE(terminal.shows("loss"));
  bool stopped = false;
  for (int tries = 0; tries < 50 && !stopped; ++tries) {
    terminal.type("\x03");
    stopped = terminal.shows("interrupted in epoch", 1);
  }
  REQUIRE(stopped);
  CHECK(terminal.shows(": `:train N steps` continues there"));
  REQUIRE(terminal.shows("dtl> "));
  CHECK(terminal.screen().find("--resume") == std::string::npos);
}

}  // namespace dtl::driver
