// Descriptions of data to JSON and back.
#include "compiler/driver/data_description.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/data/bytes.h"

namespace dtl::driver {
namespace {

using Json = nlohmann::ordered_json;

/// Counts and sizes that a plan can be made of without overflow.
constexpr int64_t kMost = int64_t{1} << 40;

struct NoDescription {};

const Json& member(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) throw NoDescription();
  return object[name];
}

std::string text_of(const Json& value) {
  if (!value.is_string()) throw NoDescription();
  return value.get<std::string>();
}

int64_t count_of(const Json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(kMost)) throw NoDescription();
  return value.get<int64_t>();
}

const Json& list_of(const Json& value) {
  if (!value.is_array()) throw NoDescription();
  return value;
}

sema::FieldInfo field_of(const Json& json) {
  sema::FieldInfo field;
  field.name = text_of(member(json, "name"));
  const std::string type = text_of(member(json, "type"));
  field.text = type == "text";
  const auto dtype = field.text ? DType::u8 : parse_dtype(type);
  if (!dtype) throw NoDescription();
  field.dtype = *dtype;
  double elements = 1;
  for (const Json& dim : list_of(member(json, "shape"))) {
    field.shape.push_back(count_of(dim));
    elements *= static_cast<double>(field.shape.back());
  }
  if (elements > static_cast<double>(kMost)) throw NoDescription();
  field.why = text_of(member(json, "why"));
  return field;
}

}  // namespace

std::string hash_of_source(std::string_view description) {
  return fmt::format("{:016x}", data::hash_of(description.data(), static_cast<int64_t>(description.size())));
}

std::string description_text(const DataDescription& description) {
  Json sources = Json::array();
  for (const auto& [source, info] : description) {
    Json fields = Json::array();
    for (const sema::FieldInfo& field : info.fields) {
      const std::string type = field.text ? "text" : std::string(name_of(field.dtype));
      fields.push_back({{"name", field.name}, {"type", type}, {"shape", field.shape}, {"why", field.why}});
    }
    sources.push_back(
        {{"source", hash_of_source(source)}, {"examples", info.examples}, {"fields", std::move(fields)}, {"unread", info.unread}});
  }
  // Names of columns are bytes of a file.
  return Json{{"sources", std::move(sources)}}.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<DataDescription> parse_description(std::string_view text) try {
  const Json json = Json::parse(text, nullptr, false);
  DataDescription description;
  for (const Json& source : list_of(member(json, "sources"))) {
    sema::SplitInfo info;
    info.examples = count_of(member(source, "examples"));
    for (const Json& field : list_of(member(source, "fields"))) info.fields.push_back(field_of(field));
    for (const Json& name : list_of(member(source, "unread"))) info.unread.push_back(text_of(name));
    description[text_of(member(source, "source"))] = std::move(info);
  }
  return description;
} catch (const NoDescription&) {
  return std::nullopt;
}

}  // namespace dtl::driver
