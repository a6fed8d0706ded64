// Safetensors and manifests: what is written is read; what is hostile is refused.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/checkpoint/manifest.h"
#include "runtime/plan/fault.h"

namespace dtl::checkpoint {
namespace {

std::string with_length(const std::string& header) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header;
}

/// What is wrong with a file of this header and so many bytes of elements; empty if nothing is.
std::string wrong(const std::string& header, int64_t elements) {
  const std::string start = with_length(header);
  try {
    parse_safetensors("file", start, static_cast<int64_t>(start.size()) + elements);
  } catch (const Fault& fault) {
    CHECK(fault.code() == 6103);
    return fault.arguments()[1];
  }
  return {};
}

TEST_CASE("safetensors: every element type and shape comes back") {
  std::vector<TensorType> tensors = {{"a/kernel", DType::f64, {2, 3}},   {"scalar", DType::i64, {}}, {"f32", DType::f32, {1}},
                                     {"i32", DType::i32, {5}},           {"bf16", DType::bf16, {4}}, {"f16", DType::f16, {2, 1, 3}},
                                     {"none", DType::f16, {0, 7}},       {"i8", DType::i8, {1}},     {"u8", DType::u8, {3}},
                                     {"bool \"\\ü", DType::boolean, {2}}};
  const std::string header = safetensors_header(tensors);
  CHECK(header.size() % 8 == 0);
  int64_t bytes = 0;
  for (const TensorType& tensor : tensors) bytes += tensor.bytes();
  const auto stored = parse_safetensors("file", header, static_cast<int64_t>(header.size()) + bytes);
  REQUIRE(stored.size() == tensors.size());
  auto at = static_cast<int64_t>(header.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    CHECK(stored[i].type.name == tensors[i].name);
    CHECK(stored[i].type.str() == tensors[i].str());
    CHECK(stored[i].begin == at);
    at = stored[i].end;
  }
}

TEST_CASE("safetensors: a header as others write it is read") {
  CHECK(
      wrong(
          R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"a":{"shape":[],"data_offsets":[0,4],"dtype":"I32"}}   )",
          12)
          .empty());
  CHECK(wrong("{}", 0).empty());
}

TEST_CASE("safetensors: hostile headers are refused") {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(wrong(good, 8).empty());
  CHECK(wrong(good, 9) == "its tensors take 8 bytes, and it has 9");
  CHECK_FALSE(wrong(good, 7).empty());
  for (const char* header : {
           "",
           " {}",
           "[]",
           "1",
           "{",
           "{\"a\":1}",
           "{\"a\":{}}",
           "\xff\xfe{}",
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})",
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})",
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9223372036854775807]}})",
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
           R"({"__metadata__":{"a":1},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
           R"({"a":{"dtype":"F32","shape":[[[[2]]]],"data_offsets":[0,8]}})",
       }) {
    INFO(header);
    CHECK_FALSE(wrong(header, 8).empty());
  }
  CHECK_FALSE(wrong(std::string(200'000, '['), 8).empty());
  CHECK_FALSE(wrong("{\"a\":" + std::string(200'000, '{'), 8).empty());
}

TEST_CASE("safetensors: the length of a header is not believed") {
  const auto code_of = [](const std::string& start, int64_t bytes) {
    try {
      parse_safetensors("file", start, bytes);
    } catch (const Fault& fault) {
      return fault.code();
    }
    return 0;
  };
  CHECK(code_of("", 0) == 6103);
  CHECK(code_of("1234567", 7) == 6103);
  CHECK(code_of(std::string(8, '\xff'), 1000) == 6103);
  CHECK(code_of(std::string("\x40\0\0\0\0\0\0\0", 8), 8) == 6103);
}

Manifest manifest() {
  Manifest manifest;
  manifest.standing = {3, 7, 1234, true, -5, 16, 2, -1, 1000, {{"train/loss", 0.1}, {"validation/loss", std::nan("")}}, {{"best", -HUGE_VAL}}};
  manifest.program = "a \"b\".dtl";
  manifest.strategy = "mirrored";
  manifest.replicas = 2;
  manifest.files = {{"weights.safetensors", 123, 0xdeadbeef}};
  manifest.tensors = {{{"Net/kernel", DType::bf16, {2, 3}}, "weights.safetensors", 7}};
  return manifest;
}

TEST_CASE("manifest: comes back as it was") {
  const Manifest before = manifest();
  const std::string text = print(before);
  const Manifest after = parse_manifest("m", text);
  CHECK(print(after) == text);
  CHECK(after.standing.total_step == 1234);
  CHECK(after.standing.seed == -5);
  CHECK(after.standing.reports[0] == before.standing.reports[0]);
  CHECK(std::isnan(after.standing.reports[1].second));
  CHECK(after.standing.kept == before.standing.kept);
  CHECK(after.files[0].crc == 0xdeadbeef);
  CHECK(after.tensors[0].type.str() == "bf16[2, 3]");
}

TEST_CASE("manifest: what is none, or of another version, is refused") {
  const auto code_of = [](const std::string& text) {
    try {
      parse_manifest("m", text);
    } catch (const Fault& fault) {
      return fault.code();
    }
    return 0;
  };
  const std::string good = print(manifest());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  CHECK(code_of(good) == 0);
  CHECK(code_of(with("\"version\": 1", "\"version\": 2")) == 6105);
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("null"), good.substr(0, 100),
        with("\"total_step\": 1234", "\"total_step\": 1235"), with("\"version\": 1", "\"version\": -1"), with("dtl checkpoint", "other"),
        std::string(100'000, '['), with("\"crc32\": \"dead", "\"crc32\": \"Dead")}) {
    INFO(text.substr(0, 200));
    CHECK(code_of(text) == 6103);
  }
}

TEST_CASE("manifest: a step that no epoch has is refused although the checksum is right") {
  Manifest broken = manifest();
  SECTION("past the epoch's end") { broken.standing.step = 64; }
  SECTION("no batch") { broken.standing.batch = 0; }
  SECTION("before the first epoch") { broken.standing.epoch = 0; }
  SECTION("negative") { broken.standing.total_step = -1; }
  SECTION("huge") { broken.standing.epoch = std::numeric_limits<int64_t>::max(); }
  CHECK_THROWS_AS(parse_manifest("m", print(broken)), Fault);
}

}  // namespace
}  // namespace dtl::checkpoint
