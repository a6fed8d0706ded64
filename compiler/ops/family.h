// One function per family file: the records of its ops. Only registry.cpp calls them.
#pragma once

#include <vector>

#include "compiler/graph/op.h"

namespace dtl::ops {

std::vector<graph::OpRecord> elementwise_unary();
std::vector<graph::OpRecord> elementwise_binary();
std::vector<graph::OpRecord> elementwise_others();
std::vector<graph::OpRecord> reductions();
std::vector<graph::OpRecord> contractions();
std::vector<graph::OpRecord> shape_ops();
std::vector<graph::OpRecord> slice_ops();
std::vector<graph::OpRecord> index_ops();
std::vector<graph::OpRecord> convolution_ops();
std::vector<graph::OpRecord> creation_ops();
std::vector<graph::OpRecord> random_ops();
std::vector<graph::OpRecord> collectives();
std::vector<graph::OpRecord> calls();

}  // namespace dtl::ops
