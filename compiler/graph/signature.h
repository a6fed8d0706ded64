// What a node must satisfy given its op's signature: shared by builder, parser and verifier.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/graph/op.h"

namespace dtl::graph {

/// Why `operands` operands and these attributes do not fit the signature; empty if they do.
std::string signature_mismatch(const Signature& signature, size_t operands, const types::Attrs& attrs);

/// Does the op run another function of the graph, named by its `function` attribute (`fused`)?
bool calls_function(const Signature& signature);

/// The result types of an op: by infer, or those of the function that it runs.
Expected<std::vector<types::TensorType>, InferError> result_types(const Graph& graph, const OpRecord& op,
                                                                  std::span<const types::TensorType> operands, const types::Attrs& attrs);

}  // namespace dtl::graph
