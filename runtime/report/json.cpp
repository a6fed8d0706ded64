// Progress as JSON, an object a line.
#include <nlohmann/json.hpp>
#include <ostream>

#include "runtime/report/format.h"
#include "runtime/report/progress.h"

namespace dtl::report {
namespace {

using Object = nlohmann::ordered_json;

Object object_of(std::span<const Value> values) {
  Object object = Object::object();
  for (const auto& [name, value] : values) object[name] = value;
  return object;
}

class Json final : public Progress {
 public:
  explicit Json(std::ostream& out) : out_(out) {}

  void start(const Start& start) override {
    Object splits = Object::object();
    for (const auto& [name, examples] : start.splits) splits[name] = examples;
    Object object = {{"event", "start"}, {"file", start.program}};
    if (!start.record.empty()) object["record"] = start.record;
    object.update({{"strategy", start.strategy},
                   {"precision", start.precision},
                   {"replicas", start.replicas},
                   {"threads_per_replica", start.threads_per_replica},
                   {"batch", start.batch},
                   {"splits", splits},
                   start.epochs ? Object{"epochs", start.epochs} : Object{"steps", start.steps},
                   {"kernels_compiled", start.kernels_compiled},
                   {"kernels_from_cache", start.kernels_from_cache},
                   {"seconds", start.seconds}});
    write(object);
  }
  bool due(double seconds) const override { return seconds >= next_; }
  void step(const Position& position, std::span<const Value> values) override {
    next_ = position.seconds + 1;
    write(event("step", position, values));
  }
  void epoch(const Position& position, std::span<const Value> values) override { write(event("epoch", position, values)); }
  void evaluation(const std::string& split, const Position& position, std::span<const Value> values) override {
    write({{"event", "evaluation"},
           {"split", split},
           {"epoch", position.epoch},
           {"total_step", position.total_step},
           {"seconds", position.seconds},
           {"reports", object_of(values)}});
  }
  void saved(const Saved& saved) override {
    write({{"event", "saved"}, {"path", saved.path}, {"total_step", saved.total_step}, {"best", saved.best}});
  }
  void message(const std::string& text) override { write({{"event", "message"}, {"text", text}}); }
  void end(const End& end) override {
    write({{"event", "end"},
           {"interrupted", end.interrupted},
           {"epochs", end.epochs},
           {"steps", end.steps},
           {"seconds", end.seconds},
           {"examples_per_second", end.examples_per_second},
           {"reports", object_of(end.values)}});
  }

 private:
  static Object event(const char* name, const Position& position, std::span<const Value> values) {
    return {{"event", name},
            {"epoch", position.epoch},
            {"step", position.step},
            {"steps", position.steps},
            {"total_step", position.total_step},
            {"seconds", position.seconds},
            {"examples_per_second", position.examples_per_second},
            {"reports", object_of(values)}};
  }

  void write(const Object& object) { report::write(out_, object.dump() + "\n"); }

  std::ostream& out_;
  double next_ = 1;
};

}  // namespace

std::unique_ptr<Progress> make_json(std::ostream& out) { return std::make_unique<Json>(out); }

}  // namespace dtl::report
