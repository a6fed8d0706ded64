// Data of a program: source expressions to Sources, faults to diagnostics at the stage that is to blame.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "compiler/driver/fault_text.h"
#include "compiler/driver/pipeline.h"
#include "compiler/source/check.h"
#include "runtime/data/lookup.h"
#include "runtime/data/synthetic.h"
#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

/// Codes of faults that lie in a file, not in the program.
bool is_file_fault(int code) { return code >= 5001 && code <= 5099; }

std::string key_of(const sema::SourceSpec& spec) {
  std::string key;
  for (const sema::SourceStage& stage : spec.stages) {
    key += "|" + stage.function;
    for (const auto& [name, value] : stage.strings) key += fmt::format(" {}={:?}", name, value);
    for (const auto& [name, value] : stage.integers) key += fmt::format(" {}={}", name, value);
    for (const auto& field : stage.fields)
      key += fmt::format(" {}={}({}, {}, {})", field.name, field.generator, field.low, field.high, fmt::join(field.shape, ","));
  }
  return key;
}

data::Generator generator_of(const std::string& name) {
  if (name == "normal") return data::Generator::normal;
  if (name == "uniform") return data::Generator::uniform;
  DTL_CHECK(name == "integers", "unknown generator {}", name);
  return data::Generator::integers;
}

std::shared_ptr<data::Source> open_synthetic(const sema::SourceStage& stage) {
  std::vector<data::SyntheticField> fields;
  // Beyond what the source itself can judge: bounds that no i64 holds.
  constexpr double kMost = 0x1p62;
  for (const auto& field : stage.fields) {
    if (std::abs(field.low) > kMost || std::abs(field.high) > kMost) throw Fault(5110, {field.name});
    fields.push_back(
        {field.name, generator_of(field.generator), static_cast<int64_t>(field.low), static_cast<int64_t>(field.high), field.shape});
  }
  return data::synthetic(stage.integers.at("examples"), static_cast<uint64_t>(stage.integers.at("seed")), fields);
}

source::Reported report(source::Sink& sink, source::Range range, const Fault& fault) {
  for (const source::CatalogueRow& row : source::catalogue()) {
    if (row.code == fault.code()) return sink.add({row.code, row.symbol, row.severity, range, fault_message(fault), {}, {}});
  }
  DTL_CHECK(false, "fault {} has no row in the catalogue", fault.code());
}

}  // namespace

std::optional<sema::SplitInfo> Compilation::open(const sema::SourceSpec& spec, source::Sink& into) {
  data::Places places{options_->data, std::filesystem::path(options_->file).parent_path(), {}};
  if (const char* variable = std::getenv("DTL_DATA")) places.variable = variable;

  std::shared_ptr<data::Source> source = this->source(spec);
  if (!source) {
    for (const sema::SourceStage& stage : spec.stages) {
      try {
        if (stage.function == "idx") {
          const std::string images = data::look_up(stage.strings.at("images"), places),
                            labels = data::look_up(stage.strings.at("labels"), places);
          source = data::idx(files_, images, labels);
        } else if (stage.function == "synthetic") {
          source = open_synthetic(stage);
        } else if (stage.function == "take") {
          source = data::take(std::move(source), stage.integers.at("count"));
        } else {
          DTL_CHECK(stage.function == "skip", "unknown source function {}", stage.function);
          source = data::skip(std::move(source), stage.integers.at("count"));
        }
      } catch (const Fault& fault) {
        source::Reported reported = report(into, stage.range, fault);
        if (fault.code() == diag::no_data_file.code) reported.help("name the folder of the data with --data or DTL_DATA");
        return std::nullopt;
      }
    }
    opened_.push_back({key_of(spec), spec.stages[0].range, source});
  }
  sema::SplitInfo info{source->examples(), {}};
  for (const data::Field& field : source->fields()) info.fields.push_back({field.name, field.dtype, field.shape});
  return info;
}

std::shared_ptr<data::Source> Compilation::source(const sema::SourceSpec& spec) const {
  const std::string key = key_of(spec);
  for (const Opened& opened : opened_) {
    if (opened.key == key) return opened.source;
  }
  return nullptr;
}

bool Compilation::finish_data(bool contents) {
  bool good = true;
  for (const Opened& opened : opened_) {
    if (!contents) break;
    try {
      opened.source->finish();
    } catch (const Fault& fault) {
      report(sink, opened.range, fault);
      good = false;
    }
  }
  for (const sema::DataSplit& split : program->data.splits) {
    if (split.info.examples > 0) continue;
    sink.report(split.source.stages.back().range, diag::not_enough_data, split.name);
    good = false;
  }
  return good;
}

int Compilation::failure_status() const {
  for (const source::Diagnostic* diagnostic : sink.all()) {
    if (diagnostic->severity == source::Severity::error && !is_file_fault(diagnostic->code)) return 1;
  }
  return 2;
}

}  // namespace dtl::driver
