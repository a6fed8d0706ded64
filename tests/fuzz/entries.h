// What the fuzzers run: one entry for each reader of texts and files. The same entries run over tests/fuzz/corpus in every build
// (corpus_test.cpp).
//
// An entry takes any bytes and returns. It finds something by ending the process, by throwing, or by taking long: a mistake in what
// it reads is none. It reads no files of the input's choosing.
#pragma once

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dtl::fuzz {

struct Entry {
  std::string name;
  void (*run)(std::string_view input);
};

void syntax(std::string_view input);      ///< tokens, Ast, and what the formatter promises
void check(std::string_view input);       ///< a program, with the standard library, up to its plan; data is never opened
void strategies(std::string_view input);  ///< a program under one of several strategies, meshes of two axes among them
void expression(std::string_view input);  ///< `--set` and `--strategy` of a small program, one a line
void graph(std::string_view input);       ///< text of a graph: every pass, and the interpreter where it is small
void idx(std::string_view input);
void csv(std::string_view input);
void npy(std::string_view input);  ///< .npy and .npz
void text(std::string_view input);
void gzip(std::string_view input);
void vocabulary(std::string_view input);   ///< as a checkpoint keeps it
void safetensors(std::string_view input);  ///< its header
void manifest(std::string_view input);     ///< of a checkpoint; its checksum need not be right

inline std::span<const Entry> entries() {
  static const Entry all[] = {{"syntax", syntax},
                              {"check", check},
                              {"strategies", strategies},
                              {"expression", expression},
                              {"graph", graph},
                              {"idx", idx},
                              {"csv", csv},
                              {"npy", npy},
                              {"text", text},
                              {"gzip", gzip},
                              {"vocabulary", vocabulary},
                              {"safetensors", safetensors},
                              {"manifest", manifest}};
  return all;
}

/// A promise that an input breaks.
template <class... Args>
void promise(bool kept, fmt::format_string<Args...> broken, Args&&... args) {
  if (!kept) throw std::runtime_error(fmt::format(broken, std::forward<Args>(args)...));
}

}  // namespace dtl::fuzz
