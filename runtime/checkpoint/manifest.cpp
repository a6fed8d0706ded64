// The manifest as JSON.
#include "runtime/checkpoint/manifest.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/plan/fault.h"

namespace dtl::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(uint32_t crc) { return fmt::format("{:08x}", crc); }

uint32_t crc_of_text(const std::string& text) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

/// JSON has no number for these.
Json of_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/// Reads of a JSON value that is believed in nothing; what is missing or of another type throws.
struct NotAManifest {
  std::string what;
};

const Json& member(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) throw NotAManifest{fmt::format("it lacks `{}`", name)};
  return object[name];
}
int64_t integer(const Json& object, const char* name) {
  const Json& value = member(object, name);
  const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
                                               : value.is_number_integer();
  if (!fits) throw NotAManifest{fmt::format("its `{}` is no 64-bit integer", name)};
  return value.get<int64_t>();
}
int64_t count(const Json& object, const char* name) {
  const int64_t value = integer(object, name);
  constexpr int64_t kMost = int64_t{1} << 53;  // sums of counts are safe, and exact as doubles
  if (value < 0 || value > kMost) throw NotAManifest{fmt::format("its `{}` is out of range", name)};
  return value;
}
std::string text(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) throw NotAManifest{fmt::format("its `{}` is no text", name)};
  return value.get<std::string>();
}
bool truth(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_boolean()) throw NotAManifest{fmt::format("its `{}` is neither true nor false", name)};
  return value.get<bool>();
}
double number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  throw NotAManifest{"one of its numbers is none"};
}
uint32_t checksum(const Json& object) {
  const std::string digits = text(object, "crc32");
  if (digits.size() != 8 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) throw NotAManifest{"a checksum is none"};
  return static_cast<uint32_t>(std::stoul(digits, nullptr, 16));
}
const Json& object(const Json& parent, const char* name) {
  const Json& value = member(parent, name);
  if (!value.is_object()) throw NotAManifest{fmt::format("its `{}` is no object", name)};
  return value;
}

Json json_of(const Standing& standing) {
  Json reports = Json::object(), kept = Json::object();
  for (const auto& [path, value] : standing.reports) reports[path] = of_number(value);
  for (const auto& [name, value] : standing.kept) kept[name] = of_number(value);
  return {{"epoch", standing.epoch},
          {"step", standing.step},
          {"total_step", standing.total_step},
          {"open", standing.open},
          {"seed", standing.seed},
          {"batch", standing.batch},
          {"accumulate", standing.accumulate},
          {"shuffle", standing.shuffle},
          {"examples", standing.examples},
          {"reports", reports},
          {"kept", kept}};
}

Standing standing_of(const Json& json) {
  Standing standing;
  standing.epoch = count(json, "epoch");
  standing.step = count(json, "step");
  standing.total_step = count(json, "total_step");
  standing.open = truth(json, "open");
  standing.seed = integer(json, "seed");
  standing.batch = count(json, "batch");
  standing.accumulate = count(json, "accumulate");
  standing.shuffle = integer(json, "shuffle");
  standing.examples = count(json, "examples");
  const bool batches = standing.batch > 0 && standing.accumulate > 0 &&
                       standing.step <= standing.examples / standing.batch + (standing.examples % standing.batch != 0);
  if (!batches || (standing.epoch == 0 && (standing.open || standing.step > 0)))
    throw NotAManifest{"it stands at a step that no epoch has"};
  for (const auto& [path, value] : object(json, "reports").items()) standing.reports.emplace_back(path, number(value));
  for (const auto& [name, value] : object(json, "kept").items()) standing.kept[name] = number(value);
  return standing;
}

TensorEntry tensor_of(const std::string& name, const Json& json) {
  TensorEntry tensor;
  tensor.type.name = name;
  tensor.file = text(json, "file");
  tensor.crc = checksum(json);
  const auto dtype = parse_dtype(text(json, "dtype"));
  if (!dtype) throw NotAManifest{fmt::format("`{}` has an unknown element type", name)};
  tensor.type.dtype = *dtype;
  const Json& shape = member(json, "shape");
  if (!shape.is_array()) throw NotAManifest{fmt::format("the shape of `{}` is none", name)};
  for (const Json& dim : shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      throw NotAManifest{fmt::format("the shape of `{}` is none", name)};
    tensor.type.shape.push_back(dim.get<int64_t>());
  }
  return tensor;
}

}  // namespace

std::string print(const Manifest& manifest) {
  Json files = Json::object(), tensors = Json::object();
  for (const FileEntry& file : manifest.files) files[file.name] = {{"bytes", file.bytes}, {"crc32", hex(file.crc)}};
  for (const TensorEntry& tensor : manifest.tensors) {
    tensors[tensor.type.name] = {
        {"file", tensor.file}, {"dtype", name_of(tensor.type.dtype)}, {"shape", tensor.type.shape}, {"crc32", hex(tensor.crc)}};
  }
  Json json = {{"format", "dtl checkpoint"},
               {"version", kVersion},
               {"program", manifest.program},
               {"strategy", manifest.strategy},
               {"replicas", manifest.replicas},
               {"standing", json_of(manifest.standing)},
               {"files", files},
               {"tensors", tensors}};
  json["crc32"] = hex(crc_of_text(json.dump()));
  return json.dump(2) + "\n";
}

Manifest parse_manifest(const std::string& path, const std::string& text_of_file) {
  try {
    const auto event = [](int depth, Json::parse_event_t, Json&) {
      if (depth > 8) throw NotAManifest{"it nests too deep"};
      return true;
    };
    Json json = Json::parse(text_of_file, event);
    if (text(json, "format") != "dtl checkpoint") throw NotAManifest{"it is of another format"};
    const int64_t version = count(json, "version");
    if (version > kVersion) throw Fault(6105, {path, std::to_string(version), std::to_string(kVersion)});
    const uint32_t crc = checksum(json);
    json.erase("crc32");
    if (crc != crc_of_text(json.dump())) throw NotAManifest{"its checksum is another"};
    Manifest manifest;
    manifest.program = text(json, "program");
    manifest.strategy = text(json, "strategy");
    manifest.replicas = count(json, "replicas");
    manifest.standing = standing_of(member(json, "standing"));
    for (const auto& [name, file] : object(json, "files").items()) manifest.files.push_back({name, count(file, "bytes"), checksum(file)});
    for (const auto& [name, tensor] : object(json, "tensors").items()) manifest.tensors.push_back(tensor_of(name, tensor));
    return manifest;
  } catch (const Json::exception&) {
    throw Fault(6103, {path, "it is no JSON"});
  } catch (const NotAManifest& broken) {
    throw Fault(6103, {path, broken.what});
  }
}

}  // namespace dtl::checkpoint
