// Outputs of a prediction: which layer is meant, names of values, and the part of the body that they need.
#include "compiler/sema/prediction.h"

#include <algorithm>

#include "compiler/sema/reporter.h"

namespace dtl::sema {
namespace {

using source::Range;

/// The place in `layers` of the last result of the instance that is meant; nothing after a report.
std::optional<size_t> find_layer(Reporter& reporter, const LayerResults& layers, const std::string& name, Range range) {
  const std::string model = layers.empty() ? "" : layers.back().first;  // left last
  const auto last = [&](const auto& is_meant) {
    const auto at = std::find_if(layers.rbegin(), layers.rend(), [&](const auto& layer) { return is_meant(layer.first); });
    return at == layers.rend() ? std::nullopt : std::optional(static_cast<size_t>(layers.rend() - at) - 1);
  };
  for (const std::string& path : {name, model + "/" + name}) {
    if (const auto exact = last([&](const std::string& it) { return it == path; })) return exact;
  }
  std::vector<std::string> all, ending;
  for (const auto& [path, result] : layers) {
    if (std::find(all.begin(), all.end(), path) != all.end()) continue;
    all.push_back(path);
    if (path.ends_with("/" + name)) ending.push_back(path);
  }
  if (ending.size() == 1) return last([&](const std::string& it) { return it == ending[0]; });
  if (!ending.empty()) {
    reporter.report(range, diag::ambiguous_layer, name, enumerate(ending));
    return std::nullopt;
  }
  auto reported = reporter.report(range, diag::unknown_layer, name);
  std::vector<std::string> names = all;
  for (const std::string& path : all) names.push_back(path.substr(path.rfind('/') + 1));
  if (const auto near = nearest(name, names)) {
    reported.help("did you mean `" + *near + "`?");
  } else {
    constexpr size_t kMost = 12;
    const size_t shown = std::min(all.size(), kMost);
    const std::string more = all.size() > shown ? fmt::format(" and {} more", all.size() - shown) : "";
    reported.help("it has " + enumerate({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown)}, more.empty() ? "and" : ",") +
                  more);
  }
  return std::nullopt;
}

class Outputs {
 public:
  Outputs(Evaluator& evaluator, Range range) : evaluator_(evaluator), range_(range) {}

  void add(const std::string& name, const Value& value) {
    if (value.is(ValueKind::record)) {
      for (size_t i = 0; i < value.items->size(); ++i) add(joined(name, (*value.names)[i]), (*value.items)[i]);
      return;
    }
    if (value.is(ValueKind::tuple) || value.is(ValueKind::list)) {
      for (size_t i = 0; i < value.items->size(); ++i)
        add(joined(name.empty() ? "prediction" : name, std::to_string(i)), (*value.items)[i]);
      return;
    }
    if (!value.ok()) return;
    const std::string shown = name.empty() ? "prediction" : name;
    Tensor x;
    if (value.is(ValueKind::tensor)) {
      x = evaluator_.emitter().use(value.tensor, range_, "the output `" + shown + "`");
      if (!x.ok()) return;
    }
    if (x.ok() && has_rows(x)) {
      evaluator_.program().prediction->outputs.emplace_back(shown, x.id);
    } else {
      evaluator_.reporter().report(range_, diag::output_without_rows, shown, evaluator_.shown(value));
    }
  }

 private:
  static std::string joined(const std::string& outer, const std::string& name) { return outer.empty() ? name : outer + "_" + name; }

  bool has_rows(Tensor x) const {
    const std::vector<types::Dim> dims = evaluator_.emitter().type(x).dims;
    return !dims.empty() && dims[0] == types::Dim::symbol("batch") &&
           std::all_of(dims.begin() + 1, dims.end(), [](const types::Dim& dim) { return dim.is_constant(); });
  }

  Evaluator& evaluator_;
  Range range_;
};

/// Keeps what the outputs are computed from, and where layers begin and end. Effects go: a prediction has none.
void drop_unneeded(Prediction& prediction) {
  std::vector<bool> needed(prediction.body.values.size());
  for (const auto& [name, value] : prediction.outputs) needed[static_cast<size_t>(value)] = true;
  std::vector<Statement> kept;
  std::vector<Statement>& statements = prediction.body.statements;
  for (auto it = statements.rbegin(); it != statements.rend(); ++it) {
    const bool bracket = it->kind == StatementKind::enter || it->kind == StatementKind::leave;
    const bool makes =
        std::any_of(it->results.begin(), it->results.end(), [&](int32_t result) { return needed[static_cast<size_t>(result)]; });
    if (!bracket && !makes) continue;
    for (const int32_t operand : it->operands) needed[static_cast<size_t>(operand)] = true;
    kept.push_back(std::move(*it));
  }
  statements.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace

void choose_outputs(Evaluator& evaluator, const Value& result, const LayerResults& layers, const std::string& layer, Range range) {
  Outputs outputs(evaluator, range);
  if (layer.empty()) {
    outputs.add("", result);
  } else if (const auto at = find_layer(evaluator.reporter(), layers, layer, range)) {
    outputs.add("features", layers[*at].second);
  }
  drop_unneeded(*evaluator.program().prediction);
}

}  // namespace dtl::sema
