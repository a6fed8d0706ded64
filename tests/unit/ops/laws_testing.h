// What the laws of ops need: operands drawn at random, an op evaluated whole and by members, a kernel composed of a rule.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "compiler/graph/members.h"
#include "compiler/graph/op.h"
#include "compiler/kernel/kernel.h"

namespace dtl::ops::test {

using graph::Array;
using graph::OpRecord;
using graph::Sample;
using types::TensorType;
using Types = std::vector<TensorType>;
using Arrays = std::vector<Array>;
using Sizes = std::map<std::string, int64_t>;
using Random = std::mt19937_64;

/// Sample `at` of an op, for messages: `gather #2: gather(f64[4], u8[5]) {…}`.
std::string str(const OpRecord& op, size_t at);

/// Every sample that does not fail, of every record; `visit(op, sample, random)` inside an INFO that names it.
void each_sample(const std::function<void(const OpRecord&, const Sample&, Random&)>& visit);

Types result_types(const OpRecord& op, const Sample& sample);
/// The sample's run-time dimensions; a share that it does not give is the whole, for one member.
Sizes dims_of(const Sample& sample);
std::vector<int64_t> shape_of(const TensorType& type, const Sizes& dims);

/// Numbers of the type, drawn from the sample's range: what the type can hold, f32 rounded.
Array draw(const TensorType& type, const Sizes& dims, const Sample& sample, Random& random);
Arrays draw_operands(const Sample& sample, Random& random);

/// What a variable of the type holds after `value` is put there.
double wrapped(DType dtype, int64_t value);

/// The op on whole operands; it has a local evaluate.
Arrays evaluate(const OpRecord& op, const Sample& sample, const Arrays& operands);

/// What each member holds of a value whose whole is given, placed along the one mesh axis; partial contributions are random.
Arrays spread(const Array& whole, const TensorType& type, const types::Placement& placement, const graph::Members& members, Random& random);
/// Each member's results, by [result][member], of operands by [operand][member].
std::vector<Arrays> evaluate_members(const OpRecord& op, const Sample& sample, const Types& results,
                                     const std::vector<types::Placement>& placements, const std::vector<Arrays>& operands,
                                     const graph::Members& members);

/// Members of one mesh axis over which a batch is split.
struct Mesh {
  graph::Graph graph;
  graph::Members members;
  Mesh(int64_t size, const Sizes& dims);
};

/// How a rule's dimensions become the kernel's sizes.
enum class Known : uint8_t { all, none };  ///< numbers in its text; each one a slot of its own

struct Composed {
  kernel::Kernel kernel;
  std::vector<int64_t> extents;
};
/// The kernel that computes one result by `rule`: outer loops over the result, then `first` and `combine`, then a store.
/// Shapes are those of one member's parts; `offset` is where its result begins; `sizes` are global.
Composed compose(const graph::KernelRule& rule, const Arrays& operands, const Array& result, const std::vector<int64_t>& offset,
                 const std::vector<int64_t>& reduced, const std::vector<int64_t>& sizes, Known known);
/// Runs it by the Jit on copies of the operands.
Array run(const Composed& composed, const Arrays& operands, const Array& like);
/// The runtime's own addition of rows, by three threads.
Array run(const graph::ScatterRule& rule, const Sizes& dims, const Arrays& operands, const Array& like);

/// The first difference, or empty. Equal: integers and bools exactly, floats within relative + absolute tolerance, NaN as NaN.
std::string difference(const Array& expected, const Array& actual, double tolerance);

}  // namespace dtl::ops::test
