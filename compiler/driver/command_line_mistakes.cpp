// What is wrong with a command line: an unknown command or option, and which option or setting of the program it may stand for.
#include "compiler/driver/command_line_mistakes.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include "compiler/driver/pipeline.h"
#include "compiler/sema/settings.h"
#include "compiler/sema/value.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

/// An argument `--name`, `--name value` or `--name=value` that is no option.
struct Unknown {
  std::string written;  ///< `--batch-size`
  std::string value;    ///< empty: none
};

std::optional<Unknown> unknown_option(const CLI::App& command, const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") return std::nullopt;
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (!name.starts_with('-') || name.find_first_not_of("-0123456789.") == std::string::npos) continue;
    if (command.get_option_no_throw(name) != nullptr) continue;
    if (equals != std::string::npos) return Unknown{name, argument.substr(equals + 1)};
    const bool value = i + 1 < arguments.size() && !arguments[i + 1].starts_with('-') && !arguments[i + 1].ends_with(".dtl");
    return Unknown{name, value ? arguments[i + 1] : ""};
  }
  return std::nullopt;
}

/// `--batch-size` is `batch_size` in a program.
std::string setting_name(const std::string& option) {
  std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Paths of `--set` for the name, in the program that the command line names; without one that can be read, of any program.
std::vector<std::string> paths_called(const std::vector<std::string>& arguments, const std::string& name) {
  for (const std::string& argument : arguments) {
    if (!argument.ends_with(".dtl")) continue;
    try {
      Options options;
      options.file = argument;
      Compilation compilation(options);
      if (compilation.parse()) return compilation.paths_called(name);
    } catch (const Fault&) {  // that it cannot be read is told by the command itself
    }
  }
  const std::vector<std::string>& known = sema::train_fields();
  return std::find(known.begin(), known.end(), name) == known.end() ? std::vector<std::string>() : std::vector<std::string>{name};
}

/// As a shell takes it.
std::string in_shell(const std::string& text) {
  return text.find_first_of(" \"'()[]{}$&*?;<>|\\") == std::string::npos ? text : "'" + text + "'";
}

bool takes(const CLI::App& command, const char* option) { return command.get_option_no_throw(option) != nullptr; }

/// What may be meant by an option that the command has not; empty: nothing that is known.
std::string way_out(const CLI::App& command, const std::vector<std::string>& arguments, const Unknown& unknown) {
  const std::string name = setting_name(unknown.written);
  if (command.get_name() == "explain-error" && name == "list") return "without a code, `dslc explain-error` lists them all";
  const std::vector<std::string> paths = takes(command, "--set") ? paths_called(arguments, name) : std::vector<std::string>();
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) options.push_back(known);
  }
  const auto near = sema::nearest(name, options);
  // A setting of that name, or of what it is called elsewhere, comes before an option that is spelt alike.
  if (paths.empty()) return near ? fmt::format("did you mean `--{}`?", *near) : "";
  std::string ways;
  for (const std::string& path : paths) {
    const std::string set = path + "=" + (unknown.value.empty() ? "…" : unknown.value);
    ways += fmt::format("{}`--set {}`", ways.empty() ? "" : " or ", in_shell(set));
  }
  return "a program's values are set by " + ways;
}

}  // namespace

bool is_no_command(const CLI::App& app, const std::vector<std::string>& arguments, std::ostream& err) {
  if (arguments.empty() || arguments[0].starts_with('-')) return false;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string& word = arguments[0];
  if (std::find(names.begin(), names.end(), word) != names.end()) return false;
  err << fmt::format("dslc: there is no command `{}`", word);
  if (word.ends_with(".dtl")) {
    err << fmt::format("; `dslc train {0}` trains it, `dslc check {0}` looks for mistakes\n", word);
  } else if (const auto near = sema::nearest(word, names)) {
    err << fmt::format("; did you mean `{}`?\n", *near);
  } else {
    err << "; there are " << sema::enumerate(names) << "\n";
  }
  return true;
}

void tell_mistake(const CLI::App& app, const std::vector<std::string>& arguments, const CLI::ParseError& error, std::ostream& err) {
  const CLI::App* command = arguments.empty() || arguments[0].starts_with('-') ? &app : app.get_subcommand(arguments[0]);
  const std::string called = command == &app ? "dslc" : "dslc " + arguments[0];
  const std::vector<std::string> rest(arguments.begin() + (command == &app ? 0 : 1), arguments.end());
  std::string what = error.what();
  if (const auto unknown = unknown_option(*command, rest)) {
    const std::string way = way_out(*command, rest, *unknown);
    what = fmt::format("there is no option `{}`{}", unknown->written, way.empty() ? "" : "; " + way);
  } else if (const auto* extra = dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const std::string text = extra->what();
    what = fmt::format("`{}` is one argument too many", text.substr(text.rfind(' ') + 1));
  }
  err << fmt::format("{}: {} (`{} --help` tells what it takes)\n", called, what, called);
}

}  // namespace dtl::driver
