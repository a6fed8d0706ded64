// The two halves of the table of built-in names.
#pragma once

#include <span>

#include "compiler/sema/builtins.h"

namespace dtl::sema {

/// Functions of tensors: the ops under their names.
std::span<const Builtin> tensor_builtins();
/// Functions of the language: fold, len, minimize, report, reduce, …
std::span<const Builtin> language_builtins();

}  // namespace dtl::sema
