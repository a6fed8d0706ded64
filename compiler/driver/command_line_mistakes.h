// Mistakes of the command line, in one line and with a way out.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace dtl::driver {

/// Whether the first word is no command, which is told with the one that may be meant.
bool is_no_command(const CLI::App& app, const std::vector<std::string>& arguments, std::ostream& err);

/// Tells what is wrong with the arguments: an option that the command has not, with the option or the setting of the program that may
/// be meant; else what `error` says.
void tell_mistake(const CLI::App& app, const std::vector<std::string>& arguments, const CLI::ParseError& error, std::ostream& err);

}  // namespace dtl::driver
