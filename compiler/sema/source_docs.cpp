// What sources of data, and what they are piped through, are, for people.
#include "compiler/sema/builtins.h"

namespace dtl::sema {
namespace {

constexpr BuiltinDoc kDocs[] = {
    {"csv", "csv(file, header = true, delimiter = \",\", missing = [], fill = none, finite = true)",
     "The columns of a table, by name: a heading's other characters are `_`. `missing` lists cells that mean a missing value, as an empty "
     "one "
     "does; `fill` is the number that stands for one, for all columns or by column: `fill = { age = 40 }`.",
     ""},
    {"npy", "npy(file, finite = true)", "An array of NumPy: one field without a name; its first dimension counts examples.", ""},
    {"npz", "npz(file, finite = true)", "The arrays of an archive of NumPy, by name.", ""},
    {"text", "text(file, range = 0%..100%)", "One example: a text, or a part of it.", ""},
    {"idx", "idx(images, labels)", "Images and labels in the format of MNIST: two fields without names.", ""},
    {"records", "records([{ x = 1.0, label = 0 }, …])", "Rows written in the program: numbers, bools, strings, lists of numbers.", ""},
    {"synthetic", "synthetic(examples, fields = { x = normal([4]), u = uniform([]), k = integers(0, 10, []) }, seed = 0)",
     "Random numbers, the same for the same seed.", ""},
    {"concat", "concat(a, b, …)", "The rows of one source after those of another; with the same fields.", ""},
    {"zip", "zip(a, b, …)", "The fields of several sources side by side; with equally many rows.", ""},
    {"join", "source |> join(table, at = indices)",
     "Packs rows of `table` into each row: those that `indices`, a source of integers, names.", ""},
    {"take", "source |> take(n)", "The first `n` examples, or so many percent: `take(90%)`.", ""},
    {"skip", "source |> skip(n)", "All but the first `n` examples, or but so many percent.", ""},
    {"where", "source |> where(row => row.split == \"train\")", "The rows for which the condition holds.", ""},
    {"shuffle", "source |> shuffle(seed = 0)", "All rows in one random order, the same each epoch: before `take` and `skip`.", ""},
    {"windows", "source |> windows(size, stride = 1)",
     "Each example is `size` rows that follow one another, the next begins `stride` further on.", ""},
    {"encode", "source |> encode(vocabulary)",
     "Of a text: one example a token. In `example`, `encode(field, vocabulary, length = n)` of a field.", ""},
    {"cache", "source |> cache()", "The same, made once and kept on disk.", ""},
    {"words", "name = words(of, column = none, keep = none, header = true, delimiter = \",\", missing = [])",
     "A vocabulary of the words of a file, or of a column: 0 is padding, 1 what is not in it; `keep` is the most numbers there are.", ""},
    {"characters", "name = characters(of, column = none, keep = none, header = true, delimiter = \",\", missing = [])",
     "A vocabulary of characters, numbered as words are.", ""},
    {"categories", "name = categories(of, column, unknown = false, header = true, delimiter = \",\", missing = [])",
     "The texts of a column as they are, numbered from 0 in order of their code points; with `unknown`, 0 stands for every other text. "
     "`encode(field, name)` is a text's number, `size(Dataset.name)` how many there are.",
     ""},
};

}  // namespace

std::span<const BuiltinDoc> source_docs() { return kDocs; }

}  // namespace dtl::sema
