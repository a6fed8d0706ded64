// Kernels read back from their text, a line at a time.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "compiler/kernel/kernel.h"
#include "compiler/types/scan.h"

namespace dtl::kernel {
namespace {

using types::trim;

constexpr double kExact = 0x1p53;

/// One line, read from left to right; `bad` is set by the first thing that does not fit.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(trim(text)) {}

  bool bad = false;

  bool at_end() const { return rest_.empty(); }

  /// The text up to a blank or one of the separators.
  std::string_view word() {
    const size_t end = std::min(rest_.find_first_of(" \t[],"), rest_.size());
    const std::string_view result = rest_.substr(0, end);
    rest_ = trim(rest_.substr(end));
    if (result.empty()) bad = true;
    return result;
  }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_ = trim(rest_.substr(text.size()));
    return true;
  }
  void expect(std::string_view text) { bad |= !take(text); }

  int32_t small(std::string_view text) {
    const auto value = types::parse_integer(text);
    if (value && *value >= 0 && *value <= std::numeric_limits<int32_t>::max()) return static_cast<int32_t>(*value);
    bad = true;
    return 0;
  }
  int32_t small() { return small(word()); }

  DType dtype() {
    const auto result = parse_dtype(word());
    bad |= !result;
    return result.value_or(DType::f32);
  }

  Size size() {
    const std::string_view text = word();
    const size_t dollar = text.find('$');
    if (dollar == 0) return {1, small(text.substr(1))};
    std::string_view scale = text;
    if (dollar != std::string_view::npos) {
      if (dollar < 2 || text[dollar - 1] != '*') {
        bad = true;
        return {};
      }
      scale = text.substr(0, dollar - 1);
    }
    const auto value = types::parse_integer(scale);
    bad |= !value;
    return {value.value_or(0), dollar == std::string_view::npos ? -1 : small(text.substr(dollar + 1))};
  }

  int32_t value() {
    expect("%");
    return small();
  }
  /// `%1, %2`, possibly none.
  std::vector<int32_t> values() {
    std::vector<int32_t> result;
    if (!rest_.starts_with("%")) return result;
    do result.push_back(value());
    while (!bad && take(","));
    return result;
  }

 private:
  std::string_view rest_;
};

Instruction parse_instruction(Line& line) {
  Instruction result{};
  const auto scalar = parse_scalar(line.word());
  line.bad |= !scalar;
  if (!scalar) return result;
  result.scalar = *scalar;
  result.dtype = line.dtype();
  if (line.bad) return result;
  switch (*scalar) {
    case Scalar::constant: {
      const auto number = types::parse_number(line.word());
      line.bad |= !number;
      result.number = number.value_or(0);
      break;
    }
    case Scalar::loop:
    case Scalar::begin:
      result.index = line.small();
      break;
    case Scalar::size:
      result.size = line.size();
      break;
    case Scalar::load:
      result.index = line.small();
      line.expect("[");
      result.args = line.values();
      line.expect("]");
      break;
    case Scalar::reduced: {
      const std::string_view place = line.word();
      const size_t dot = std::min(place.find('.'), place.size() - 1);
      result.index = line.small(place.substr(0, dot));
      result.number = line.small(place.substr(dot + 1));
      break;
    }
    case Scalar::uniform:
    case Scalar::negate:
    case Scalar::abs:
    case Scalar::exp:
    case Scalar::log:
    case Scalar::log1p:
    case Scalar::sqrt:
    case Scalar::rsqrt:
    case Scalar::tanh:
    case Scalar::sigmoid:
    case Scalar::erf:
    case Scalar::sin:
    case Scalar::cos:
    case Scalar::floor:
    case Scalar::ceil:
    case Scalar::round:
    case Scalar::sign:
    case Scalar::logical_not:
    case Scalar::is_nan:
    case Scalar::add:
    case Scalar::subtract:
    case Scalar::multiply:
    case Scalar::divide:
    case Scalar::power:
    case Scalar::maximum:
    case Scalar::minimum:
    case Scalar::mod:
    case Scalar::floor_div:
    case Scalar::logical_and:
    case Scalar::logical_or:
    case Scalar::equal:
    case Scalar::not_equal:
    case Scalar::less:
    case Scalar::less_equal:
    case Scalar::select:
    case Scalar::cast:
      result.args = line.values();
      break;
  }
  return result;
}

Operand parse_operand(Line& line) {
  Operand result{};
  result.dtype = line.dtype();
  line.expect("[");
  if (!line.bad && !line.take("]")) {
    do result.dims.push_back(line.size());
    while (!line.bad && line.take(","));
    line.expect("]");
  }
  result.written = line.take("written");
  return result;
}

/// Everything after the first word of a line that does not begin with `%`.
void parse_clause(Line& line, std::string_view word, Kernel& kernel) {
  if (word == "operand") {
    line.bad |= line.small() != static_cast<int32_t>(kernel.operands.size());
    kernel.operands.push_back(parse_operand(line));
  } else if (word == "outer" || word == "inner") {
    line.bad |= line.small() != static_cast<int32_t>(kernel.loops.size());
    if (word == "outer") line.bad |= kernel.outer++ != static_cast<int32_t>(kernel.loops.size());
    kernel.loops.push_back(line.size());
  } else if (word == "stage") {
    Stage stage;
    line.expect("[");
    if (!line.bad && !line.take("]")) {
      do stage.loops.push_back(line.small());
      while (!line.bad && line.take(","));
      line.expect("]");
    }
    kernel.stages.push_back(std::move(stage));
  } else if (word == "reduce" && !kernel.stages.empty()) {
    const auto op = parse_reduce_op(line.word());
    line.bad |= !op;
    kernel.stages.back().reductions.push_back({op.value_or(ReduceOp::sum), line.value()});
  } else if (word == "store" && !kernel.stages.empty()) {
    Store store{};
    store.operand = line.small();
    line.expect("[");
    store.indices = line.values();
    line.expect("]");
    store.value = line.value();
    kernel.stages.back().stores.push_back(std::move(store));
  } else {
    line.bad = true;
  }
}

}  // namespace

std::optional<Kernel> parse(std::string_view text, std::string* error) {
  Kernel kernel;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (whole.empty()) continue;
    Line line(whole);
    if (line.take("%")) {
      line.bad |= line.small() != static_cast<int32_t>(kernel.body.size());
      line.expect("=");
      if (!line.bad) kernel.body.push_back(parse_instruction(line));
    } else {
      parse_clause(line, line.word(), kernel);
    }
    if (line.bad || !line.at_end()) {
      if (error) *error = fmt::format("line {} is no part of a kernel: {}", number, whole);
      return std::nullopt;
    }
  }
  return kernel;
}

}  // namespace dtl::kernel
