// The reference of the built-in functions: what `dslc library NAME` says of them, in the form of the library's own comments. A test
// holds each against the function's parameters and runs its examples. Sources of data have their page, docs/language/data.md.
#include "compiler/sema/builtins.h"

namespace dtl::sema {
namespace {

constexpr BuiltinDoc kDocs[] = {
    // Sums and the like.
    {"sum", "(x: any[...], axis: axes = none, keep: bool = false) -> any[...]",
     "Sum over `axis`: one axis, a list of them, or all. With `keep` a summed axis stays, of size 1; truth values count as 1 and 0. Over "
     "the batch it is the sum of the global batch.",
     "`sum(x, axis = 1)` is `f32[batch]`\n`sum(tensor([1, 2, 3]))` is 6"},
    {"max", "(x: number[...], axis: axes = none, keep: bool = false) -> number[...]", "Greatest element over `axis`, as `sum`.",
     "`max(tensor([1, 3, 2]))` is 3"},
    {"min", "(x: number[...], axis: axes = none, keep: bool = false) -> number[...]", "Smallest element over `axis`, as `sum`.",
     "`min(image, axis = [1, 2])` is `f32[batch, 3]`"},
    {"prod", "(x: number[...], axis: axes = none, keep: bool = false) -> number[...]", "Product over `axis`, as `sum`.",
     "`prod(tensor([2, 3, 4]))` is 24"},
    {"argmax", "(x: number[...], axis: int = -1) -> i64[...]", "Index of the greatest element along `axis`, the first of equal ones.",
     "`argmax(x)` is `i64[batch]`"},
    {"count", "(x: any[...], axis: axes = none) -> int",
     "How many elements `sum` over `axis` adds: over the batch, the number of examples.", "`count(image, axis = [1, 2])` is 784"},
    {"matmul", "(a: number[...], b: number[...], transpose_a: bool = false, transpose_b: bool = false) -> number[...]",
     "Product of matrices, over the last two axes; the axes before them go side by side. `transpose_a` and `transpose_b` swap a factor's "
     "last two axes.",
     "`matmul(x, target, transpose_b = true)` is `f32[batch, batch]`\n`matmul(sequence, memory, transpose_b = true)` is `f32[batch, 16, "
     "20]`"},
    // Shapes.
    {"reshape", "(x: any[...], shape: shape) -> any[...]",
     "The same elements, in the same order, in another shape. One size may be -1: what is left.",
     "`reshape(x, [batch, 2, 4])` is `f32[batch, 2, 4]`\n`reshape(image, [batch, -1])` is `f32[batch, 2352]`"},
    {"flatten", "(x: any[...]) -> any[...]", "All axes but the first as one; in `example`, all axes.",
     "`flatten(image)` is `f32[batch, 2352]`"},
    {"expand", "(x: any[...], axis: int = -1) -> any[...]", "One axis more, of size 1, that is axis `axis` of the result.",
     "`expand(x, axis = 1)` is `f32[batch, 1, 8]`\n`expand(label)` is `i64[batch, 1]`"},
    {"squeeze", "(x: any[...], axis: axes = none) -> any[...]", "Without the axes of size 1: those of `axis`, or all.",
     "`squeeze(expand(x))` is `f32[batch, 8]`"},
    {"transpose", "(x: any[...], permutation: [int]? = none) -> any[...]",
     "The axes in another order, the reverse one if none is given: axis i of the result is axis `permutation[i]` of `x`.",
     "`transpose(sequence, [0, 2, 1])` is `f32[batch, 32, 16]`"},
    {"broadcast", "(x: any[...], shape: shape) -> any[...]",
     "`x` stretched to a shape, as arithmetic stretches its operands: axes are counted from the last, and those of size 1 repeat.",
     "`broadcast(tensor([1.0, 2.0]), [3, 2])` is `f32[3, 2]`"},
    {"concat", "(tensors: [any[...]], axis: int = 0) -> any[...]", "Tensors one after the other along an axis; `stack` makes a new one.",
     "`concat([x, target], axis = 1)` is `f32[batch, 16]`"},
    {"pad", "(x: number[...], before: [int], after: [int]) -> number[...]", "Zeros around `x`: for each axis, how many before and after.",
     "`pad(x, [0, 1], [0, 2])` is `f32[batch, 11]`"},
    // Made from nothing, or looked up.
    {"tensor", "(numbers: any, dtype: dtype? = none) -> any[...]",
     "Lists of numbers, nested as deep as the result has axes, as a tensor: `i32` of whole numbers, `bool` of truth values, else `f32`.",
     "`tensor([[1.0, 2.0], [3.0, 4.0]])` is `f32[2, 2]`"},
    {"iota", "(shape: shape, axis: int = 0, dtype: dtype = i32) -> number[...]", "Each element is its index along `axis`: 0, 1, 2, …",
     "`iota([8])` is `i32[8]`\n`sum(iota([2, 3], axis = 1))` is 6"},
    {"full", "(shape: shape, value: any, dtype: dtype? = none) -> any[...]", "One number everywhere: `f32`, or `dtype`.",
     "`full([2, 3], 0.5)` is `f32[2, 3]`"},
    {"gather", "(x: number[n, ...], index: int[...]) -> number[...]",
     "Rows of a table: for each index, that row of `x`, along its first axis. An index without a row ends the run.",
     "`gather(tensor([[1.0, 2.0], [3.0, 4.0]]), argmax(x[.., 0 .. 2]))` is `f32[batch, 2]`"},
    {"gather_along", "(x: number[...], index: int[...], axis: int = -1) -> number[...]",
     "Elements along an axis: element i of the result is element `index[i]` of `x`; the other axes go side by side. An index without an "
     "element ends the run.",
     "`gather_along(x, expand(argmax(x)))` is `f32[batch, 1]`"},
    // Element by element.
    {"select", "(condition: bool[...], then: any[...], otherwise: any[...]) -> any[...]",
     "`then` where the condition holds, else `otherwise`. Both are computed; a gradient goes into the one that was chosen.",
     "`select(x > 0, x, 0)` is `f32[batch, 8]`"},
    {"cast", "(x: any[...], to: dtype) -> any[...]",
     "Another element type: truth values become 1 and 0, floats lose what is behind the point where `to` is whole.",
     "`cast(label, f32)` is `f32[batch]`\n`cast(x, i32)` is `i32[batch, 8]`"},
    {"stop_gradient", "(x: any[...]) -> any[...]", "`x`, as a constant for gradients.", "`stop_gradient(x)` is `f32[batch, 8]`"},
    {"maximum", "(x: number[...], y: number[...]) -> number[...]", "The greater of two.", "`maximum(3, 5)` is 5"},
    {"minimum", "(x: number[...], y: number[...]) -> number[...]", "The smaller of two.", "`minimum(3, 5)` is 3"},
    {"mod", "(x: number[...], y: number[...]) -> number[...]", "What a division rounded down leaves; its sign is that of `y`.",
     "`mod(-1, 3)` is 2"},
    {"floor_div", "(x: number[...], y: number[...]) -> number[...]", "A division rounded down.", "`floor_div(7, 2)` is 3"},
    {"abs", "(x: number[...]) -> number[...]", "Without its sign.", "`abs(-3)` is 3"},
    {"sign", "(x: number[...]) -> number[...]", "-1, 0 or 1.", "`sign(-3)` is -1"},
    {"exp", "(x: float[...]) -> float[...]", "e to the power of `x`.", "`exp(0)` is 1"},
    {"log", "(x: float[...]) -> float[...]", "Natural logarithm.", "`log(1)` is 0"},
    {"log1p", "(x: float[...]) -> float[...]", "log(1 + x), exact near 0.", "`log1p(0)` is 0"},
    {"sqrt", "(x: float[...]) -> float[...]", "Square root.", "`sqrt(9)` is 3"},
    {"rsqrt", "(x: float[...]) -> float[...]", "1 / sqrt(x).", "`rsqrt(4)` is 0.5"},
    {"tanh", "(x: float[...]) -> float[...]", "Hyperbolic tangent.", "`tanh(0)` is 0"},
    {"sigmoid", "(x: float[...]) -> float[...]", "1 / (1 + exp(-x)).", "`sigmoid(0)` is 0.5"},
    {"erf", "(x: float[...]) -> float[...]", "Error function.", "`erf(0)` is 0"},
    {"sin", "(x: float[...]) -> float[...]", "Sine, of radians.", "`sin(0)` is 0"},
    {"cos", "(x: float[...]) -> float[...]", "Cosine, of radians.", "`cos(0)` is 1"},
    {"floor", "(x: float[...]) -> float[...]", "The next whole number below.", "`floor(2.5)` is 2"},
    {"ceil", "(x: float[...]) -> float[...]", "The next whole number above.", "`ceil(2.5)` is 3"},
    {"round", "(x: float[...]) -> float[...]", "The nearest whole number, the even one of two.", "`round(2.5)` is 2"},
    {"is_nan", "(x: float[...]) -> bool[...]", "Whether it is no number.", "`is_nan(x)` is `bool[batch, 8]`"},
    // Windows and random numbers.
    {"patches",
     "(x: number[...], window: int | [int], stride: int | [int] = 1, dilation: int | [int] = 1, before: int | [int] = 0, after: int | "
     "[int] = 0, fill: float = 0.0) -> number[...]",
     "Windows over the axes in front of the last: of `[batch, height, width, channels]` and a window of two, `[batch, rows, columns, "
     "window height, window width, channels]`. `before` and `after` are paddings, of `fill`.",
     "`patches(image, [3, 3], stride = [2, 2])` is `f32[batch, 13, 13, 3, 3, 3]`"},
    {"overlap_add",
     "(x: number[...], size: int | [int], stride: int | [int] = 1, dilation: int | [int] = 1, before: int | [int] = 0) -> number[...]",
     "The transpose of `patches`: windows added up at their places, in axes of `size`.",
     "`overlap_add(patches(image, [2, 2]), [28, 28])` is `f32[batch, 28, 28, 3]`"},
    {"random_uniform", "(shape: shape, dtype: dtype? = none) -> float[...]",
     "Random numbers from 0 up to, but not including, 1: new ones in each step, of each example by its place in the data, whatever the "
     "strategy.",
     "`random_uniform(shape(x))` is `f32[batch, 8]`"},
    // Known at compile time.
    {"shape", "(x: any[...]) -> shape", "The dimensions as a list.", "`reshape(target, shape(x))` is `f32[batch, 8]`"},
    {"size", "(x: any[...], axis: int? = none) -> int",
     "The size of one axis, or how many elements there are; of a vocabulary, how many numbers it has.", "`size(x, 1)` is 8"},
    {"rank", "(x: any[...]) -> int", "How many axes.", "`rank(image)` is 4"},
    {"dtype_of", "(x: any[...]) -> dtype", "The element type.", "`cast(label, dtype_of(x))` is `f32[batch]`"},
    {"len", "(list: any) -> int", "How many entries a list, tuple or record has, or characters a string.", "`len([1, 2, 3])` is 3"},
    {"is_none", "(value: any) -> bool", "Whether an optional argument is not given.", "`if is_none(none) { 1 } else { 0 }` is 1"},
    {"is_list", "(value: any) -> bool", "Whether a value is a list.", "`if is_list([1]) { 1 } else { 0 }` is 1"},
    // Loops, checks and steps.
    {"fold", "(over: any, initial: any, body: function) -> any",
     "Goes over a range or list known at compile time: `body(value, item)` of each item gives the value for the next.",
     "`fold(0 .. 4, 0, (sum, i) => sum + i)` is 6"},
    {"scan", "(initial: any, over: any, body: function, axis: int? = none, reverse: bool = false) -> (any, any)",
     "Goes along one axis of tensors, time: see [recurrence](recurrence.md). `body(state, entry)` gives the next state and what the step "
     "makes.",
     "`scan(x, sequence, (state, entry) => (state + sum(entry), none))`"},
    {"checked_index", "(index: int[...], size: int) -> int[...]",
     "`index`, whose numbers are looked at: one below 0 or not below `size` ends the run. See [data](data.md).",
     "`checked_index(label, 8)` is `i64[batch]`"},
    {"checked_share", "(x: float[...]) -> float[...]",
     "`x`; where it is a field of the data as it is, all its numbers are looked at before training: one outside of 0 to 1 is a fault.",
     "`checked_share(target)` is `f32[batch, 8]`"},
    {"weights_of", "(model: any, matching: string? = none) -> [any[...]]",
     "The weights of a model that was called, or of a layer bound by `let`; with `matching`, those whose path has that text.",
     "`loss = mean(sparse_cross_entropy(prediction, label)) + 1e-4 * fold(weights_of(M), 0, (sum, w) => sum + norm(w))`"},
};

}  // namespace

std::span<const BuiltinDoc> builtin_docs() { return kDocs; }

}  // namespace dtl::sema
