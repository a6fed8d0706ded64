// What sema knows of data: opened by the driver before checking, so that sizes and fields are known at compile time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/source/diagnostic.h"
#include "runtime/plan/dtype.h"

namespace dtl::sema {

/// A stage of a source expression, evaluated: `idx(images = "…", labels = "…") |> take(55_000)`.
struct SourceStage {
  std::string function;  ///< `idx`, `synthetic`, `take`, `skip`
  source::Range range;
  std::map<std::string, std::string> strings;
  std::map<std::string, int64_t> integers;
  /// synthetic: field name → generator (`normal`, `uniform`, `integers`), bounds and per-example shape.
  struct Field {
    std::string name, generator;
    double low = 0, high = 1;
    std::vector<int64_t> shape;
  };
  std::vector<Field> fields;
};

struct SourceSpec {
  std::vector<SourceStage> stages;  ///< first the source, then what it is piped through
};

struct FieldInfo {
  std::string name;  ///< empty where the source does not name its fields (idx)
  DType dtype;
  std::vector<int64_t> shape;  ///< of one example
};

struct SplitInfo {
  int64_t examples = 0;
  std::vector<FieldInfo> fields;
};

/// Opens data on behalf of sema. Reports 5xxx diagnostics itself (at the stage's range) and returns nothing on failure.
using OpenSource = std::function<std::optional<SplitInfo>(const SourceSpec&, source::Sink&)>;

}  // namespace dtl::sema
