// The members of a mesh in the interpreter: who they are, which part of a value each holds, cutting and joining.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op.h"

namespace dtl::graph {

/// Where a member's part of a value lies in the whole, per dimension.
struct Part {
  std::vector<int64_t> shape, offset;
};

class Members {
 public:
  /// All members of the graph's mesh, or one alone where nothing is placed.
  Members(const Graph& graph, bool placed, const std::map<std::string, int64_t>& dims);

  size_t count() const { return dims_.size(); }
  /// Run-time dimensions as `member` sees them, its shares included.
  const std::map<std::string, int64_t>& dims(size_t member) const { return dims_[member]; }
  /// Members that differ in their coordinate on `axis` only, in order of it; each member is in one group.
  std::vector<std::vector<size_t>> groups(int64_t axis) const;

  /// The shape and offset of `member`'s part of a value of this type and these placements.
  Part part(const types::TensorType& type, const types::Placements& placements, size_t member) const;
  /// A global array as its members hold it.
  std::vector<Array> cut(const Array& whole, const Value& value) const;
  /// The global array that the members' parts make up.
  Array join(std::vector<Array> parts, const Value& value) const;

 private:
  std::vector<int64_t> sizes_;  ///< of the mesh axes, outermost first
  std::vector<std::vector<int64_t>> coordinates_;
  std::vector<std::map<std::string, int64_t>> dims_;
};

}  // namespace dtl::graph
