// Attributes: storage sorted by name, printing and parsing.
#include "compiler/types/attrs.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/types/scan.h"
#include "compiler/types/tensor_type.h"

namespace dtl::types {
namespace {

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const Ints& value) const { return fmt::format("#[{}]", fmt::join(value, ", ")); }
  std::string operator()(DType value) const { return std::string(name_of(value)); }
  std::string operator()(ReduceOp value) const { return std::string(name_of(value)); }
  std::string operator()(const Dims& value) const { return str(value); }
  std::string operator()(const Placements& value) const { return str(value); }
};

std::optional<AttrValue> parse_ints(std::string_view text) {
  const auto content = inside(text.substr(1), '[', ']');
  const auto parts = content ? split_outside(*content, ',') : std::nullopt;
  if (!parts) return std::nullopt;
  Ints ints;
  for (const std::string_view part : *parts) {
    const auto value = parse_integer(part);
    if (!value) return std::nullopt;
    ints.push_back(*value);
  }
  return ints;
}

/// Each alternative has a form of its own, so the first that reads is the one.
std::optional<AttrValue> parse_value(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text == "true") return AttrValue(true);
  if (text == "false") return AttrValue(false);
  if (text[0] == '"') {
    auto plain = unquote(text);
    return plain ? std::optional<AttrValue>(std::move(*plain)) : std::nullopt;
  }
  if (text[0] == '#') return parse_ints(text);
  if (text[0] == '[') {
    auto dims = parse_dims(text);
    return dims ? std::optional<AttrValue>(std::move(*dims)) : std::nullopt;
  }
  if (const auto integer = parse_integer(text)) return AttrValue(*integer);
  if (const auto number = parse_number(text)) return AttrValue(*number);
  if (const auto dtype = parse_dtype(text)) return AttrValue(*dtype);
  if (const auto op = parse_reduce_op(text)) return AttrValue(*op);
  if (auto placements = parse_placements(text)) return AttrValue(std::move(*placements));
  return std::nullopt;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool by_name(const std::pair<std::string, AttrValue>& entry, std::string_view name) { return entry.first < name; }

}  // namespace

Attrs::Attrs(std::initializer_list<std::pair<std::string, AttrValue>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

void Attrs::set(std::string name, AttrValue value) {
  const auto place = std::lower_bound(values_.begin(), values_.end(), std::string_view(name), by_name);
  if (place != values_.end() && place->first == name) {
    place->second = std::move(value);
  } else {
    values_.emplace(place, std::move(name), std::move(value));
  }
}

const AttrValue* Attrs::find(std::string_view name) const {
  const auto place = std::lower_bound(values_.begin(), values_.end(), name, by_name);
  return place != values_.end() && place->first == name ? &place->second : nullptr;
}

std::string Attrs::str() const {
  std::string text = "{";
  for (const auto& [name, value] : values_) {
    if (text.size() > 1) text += ", ";
    text += name + " = " + std::visit(ValueText{}, value);
  }
  return text + "}";
}

std::optional<Attrs> Attrs::parse(std::string_view text) {
  const auto content = inside(text, '{', '}');
  const auto parts = content ? split_outside(*content, ',') : std::nullopt;
  if (!parts) return std::nullopt;
  Attrs attrs;
  for (const std::string_view part : *parts) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = trim(part.substr(0, equals));
    auto value = parse_value(trim(part.substr(equals + 1)));
    if (!is_name(name) || !value || attrs.find(name)) return std::nullopt;
    attrs.set(std::string(name), std::move(*value));
  }
  return attrs;
}

}  // namespace dtl::types
