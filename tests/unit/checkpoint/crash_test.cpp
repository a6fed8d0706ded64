// A save that is cut off anywhere: what its operations leave on a disk, in part or in whole, holds a whole checkpoint.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "runtime/checkpoint/checkpoint.h"

namespace dtl::checkpoint {
namespace {

namespace fs = std::filesystem;

enum class Kind { make_directory, write, sync_file, sync_directory, rename, link, remove };

struct Operation {
  Kind kind;
  std::string path, other;  ///< of rename: from, to; of a link: its path, what it says
  std::string contents;
};

/// Does what it is told, and writes it down; the operation of number `fails` is refused.
class Recorder final : public Files {
 public:
  void make_directory(const std::string& path) override { add({Kind::make_directory, path, {}, {}}), disk().make_directory(path); }
  void write(const std::string& path, std::span<const Bytes> parts) override {
    std::string contents;
    for (const Bytes part : parts) contents.append(reinterpret_cast<const char*>(part.data()), part.size());
    add({Kind::write, path, {}, contents});
    disk().write(path, parts);
  }
  void sync_file(const std::string& path) override { add({Kind::sync_file, path, {}, {}}), disk().sync_file(path); }
  void sync_directory(const std::string& path) override { add({Kind::sync_directory, path, {}, {}}), disk().sync_directory(path); }
  void rename(const std::string& from, const std::string& to) override { add({Kind::rename, from, to, {}}), disk().rename(from, to); }
  void link(const std::string& target, const std::string& path) override { add({Kind::link, path, target, {}}), disk().link(target, path); }
  void remove(const std::string& path) override { add({Kind::remove, path, {}, {}}), disk().remove(path); }

  std::vector<Operation> operations;
  size_t fails = SIZE_MAX;

 private:
  void add(Operation operation) {
    if (operations.size() == fails) {
      fails = SIZE_MAX;  // what is done about it works
      throw Fault(6101, {operation.path, "No space left on device"});
    }
    operations.push_back(std::move(operation));
  }
};

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / ("crash-" + std::to_string(getpid()))).string()) { clear(); }
  ~Folder() { fs::remove_all(path_); }
  void clear() const {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Tensors of which every element is the step.
struct Model {
  explicit Model(int64_t step) : kernel(6, static_cast<float>(step)), moments(3, static_cast<double>(step)) {
    snapshot.standing.epoch = 1;
    snapshot.standing.step = snapshot.standing.total_step = step;
    snapshot.standing.examples = 100;
    snapshot.standing.open = true;
    snapshot.tensors = {{{"Net/dense.0/kernel", DType::f32, {2, 3}}, std::as_bytes(std::span(kernel)), false},
                        {{"Net/dense.0/kernel:adam.m", DType::f64, {3}}, std::as_bytes(std::span(moments)), true},
                        {{"Net/empty", DType::f32, {0, 3}}, {}, false}};
    snapshot.texts = {{"vocabulary.json", "[\"a\", \"b\"]"}};
  }
  std::vector<float> kernel;
  std::vector<double> moments;
  Snapshot snapshot;
};

/// The step of the newest checkpoint; its contents must be that step's.
int64_t step_in(const std::string& directory) {
  const Checkpoint checkpoint = open(directory, [](const std::string& path, const Fault& fault) {
    FAIL(path + ": " + fault.arguments()[1]);  // a crash leaves none that is damaged
  });
  const int64_t step = checkpoint.standing().total_step;
  const Model expected(step);
  for (const Snapshot::Tensor& tensor : expected.snapshot.tensors) {
    const TensorEntry* entry = checkpoint.find(tensor.type.name);
    REQUIRE(entry);
    std::vector<std::byte> elements(tensor.elements.size());
    checkpoint.read(*entry, elements);
    REQUIRE(std::equal(elements.begin(), elements.end(), tensor.elements.begin(), tensor.elements.end()));
  }
  REQUIRE(checkpoint.text("vocabulary.json") == "[\"a\", \"b\"]");
  return step;
}

/// What reached the disk of the first `count` operations before the machine went down.
enum class Lost {
  nothing,   ///< the process died, the system did not
  contents,  ///< of files that were not synced
  half,      ///< of the last file written, the second half
  entries,   ///< what was done in a directory since it was last synced
};

void replay(const std::vector<Operation>& operations, size_t count, Lost lost) {
  const auto synced_later = [&](size_t i, Kind kind, const std::string& path) {
    for (size_t j = i + 1; j < count; ++j) {
      if (operations[j].kind == kind && operations[j].path == path) return true;
    }
    return false;
  };
  for (size_t i = 0; i < count; ++i) {
    const Operation& it = operations[i];
    if (lost == Lost::entries && it.kind != Kind::sync_file && it.kind != Kind::sync_directory) {
      const std::string changed = it.kind == Kind::rename ? it.other : it.path;
      if (!synced_later(i, Kind::sync_directory, fs::path(changed).parent_path().string())) continue;
    }
    switch (it.kind) {
      case Kind::make_directory:
        fs::create_directory(it.path);
        break;
      case Kind::write: {
        std::string contents = it.contents;
        if (lost == Lost::contents && !synced_later(i, Kind::sync_file, it.path)) contents.clear();
        if (lost == Lost::half && i + 1 == count) contents.resize(contents.size() / 2);
        if (!fs::exists(fs::path(it.path).parent_path())) break;  // it was made in a directory that was lost
        std::ofstream(it.path, std::ios::binary) << contents;
        break;
      }
      case Kind::rename:
        fs::rename(it.path, it.other);
        break;
      case Kind::link:
        fs::create_symlink(it.other, it.path);
        break;
      case Kind::remove:
        fs::remove_all(it.path);
        break;
      case Kind::sync_file:
      case Kind::sync_directory:
        break;
    }
  }
}

TEST_CASE("crash: after any part of a save there is the new checkpoint or the one before") {
  const Folder folder;
  Recorder recorder;
  std::vector<size_t> complete;  // operations after which a save has returned
  for (int64_t step = 1; step <= 4; ++step) {
    Model model(step);
    save(recorder, folder.path(), model.snapshot);
    complete.push_back(recorder.operations.size());
    if (step == 2) mark_best(recorder, folder.path(), step);
    prune(recorder, folder.path(), 1);
  }
  CHECK(step_in(folder.path()) == 4);
  CHECK(step_in(folder.path() + "/best") == 2);
  REQUIRE(recorder.operations.size() > 40);
  for (const Lost lost : {Lost::nothing, Lost::contents, Lost::half, Lost::entries}) {
    for (size_t count = complete[0]; count <= recorder.operations.size(); ++count) {
      CAPTURE(static_cast<int>(lost), count);
      folder.clear();
      replay(recorder.operations, count, lost);
      const auto saved = static_cast<int64_t>(std::count_if(complete.begin(), complete.end(), [&](size_t end) { return end <= count; }));
      const int64_t found = step_in(folder.path());
      CHECK((found == saved || found == saved + 1));
      // What is left over is removed by the next save.
      Model next(10);
      save(disk(), folder.path(), next.snapshot);
      prune(disk(), folder.path(), 1);
      CHECK(step_in(folder.path()) == 10);
      for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename().string();
        CHECK((name == "best" || name == "step-000010" || name == "step-000002"));
      }
    }
  }
}

TEST_CASE("crash: a save that any operation of fails leaves the checkpoint before, and a later one succeeds") {
  const Folder folder;
  Model first(1), second(2), third(3);
  Recorder counting;
  save(counting, folder.path(), first.snapshot);
  save(counting, folder.path(), second.snapshot);
  const size_t most = counting.operations.size() / 2;
  for (size_t fails = 0; fails < most; ++fails) {
    CAPTURE(fails);
    folder.clear();
    save(disk(), folder.path(), first.snapshot);
    Recorder recorder;
    recorder.fails = fails;
    bool failed = false;
    try {
      save(recorder, folder.path(), second.snapshot);
    } catch (const Fault& fault) {
      failed = true;
      CHECK(fault.code() == 6101);
    }
    CHECK(failed);
    const int64_t found = step_in(folder.path());
    CHECK((found == 1 || found == 2));
    save(disk(), folder.path(), third.snapshot);
    CHECK(step_in(folder.path()) == 3);
  }
}

TEST_CASE("checkpoint: one of the same step is replaced") {
  const Folder folder;
  Model model(5);
  save(disk(), folder.path(), model.snapshot);
  model.snapshot.program = "other.dtl";
  const std::string path = save(disk(), folder.path(), model.snapshot);
  CHECK(Checkpoint(path).manifest().program == "other.dtl");
  CHECK(checkpoints_in(folder.path()).size() == 1);
}

TEST_CASE("checkpoint: every byte counts: a damaged one is passed over") {
  const Folder folder;
  Model first(1), second(2);
  save(disk(), folder.path(), first.snapshot);
  const std::string path = save(disk(), folder.path(), second.snapshot);
  int damaged = 0;
  for (const char* name : {kWeightsFile, kTrainingFile, kManifestFile, "vocabulary.json"}) {
    const std::string file = path + "/" + name;
    std::ostringstream whole;
    whole << std::ifstream(file, std::ios::binary).rdbuf();
    const std::string bytes = whole.str();
    for (size_t at = 0; at <= bytes.size(); ++at) {
      std::string broken = bytes;
      if (at == bytes.size()) {
        broken.pop_back();
      } else {
        broken[at] = static_cast<char>(broken[at] ^ 1);
      }
      std::ofstream(file, std::ios::binary) << broken;
      std::string why;
      const auto passed_over = [&](const std::string& at_path, const Fault& fault) { why = at_path + fault.arguments()[1]; };
      // White space of the manifest carries nothing.
      const int64_t step = open(folder.path(), passed_over).standing().total_step;
      CHECK((step == 1) == !why.empty());
      damaged += step == 1 ? 1 : 0;
      if (std::string_view(name) != kManifestFile) CHECK(step == 1);
    }
    std::ofstream(file, std::ios::binary) << bytes;
  }
  CHECK(damaged > 300);
  fs::remove(path + "/" + kWeightsFile);
  std::string why;
  open(folder.path(), [&](const std::string&, const Fault& fault) { why = fault.arguments()[1]; });
  CHECK(why == "it is missing");
}

TEST_CASE("checkpoint: a directory without any, and a run's directory that cannot be") {
  const Folder folder;
  const auto code_of = [](const auto& f) {
    try {
      f();
    } catch (const Fault& fault) {
      return fault.code();
    }
    return 0;
  };
  const auto none = [](const std::string&, const Fault&) {};
  CHECK(code_of([&] { open(folder.path(), none); }) == 6102);
  CHECK(code_of([&] { open(folder.path() + "/nowhere", none); }) == 6102);
  std::ofstream(folder.path() + "/file") << "x";
  CHECK(code_of([&] { prepare(disk(), folder.path() + "/file", {}); }) == 6101);
  CHECK(code_of([&] { prepare(disk(), folder.path() + "/file/below", {}); }) == 6101);
  CHECK(code_of([&] { prepare(disk(), folder.path() + "/a/b/c", {.weights = int64_t{1} << 60}); }) == 6111);
  CHECK(code_of([&] { prepare(disk(), folder.path() + "/a/b/c", {.weights = 1}); }) == 0);
  CHECK(disk_too_full("run", 120'000'000, 3'000'000).arguments() == std::vector<std::string>{"run", "120.0 MB", "3.0 MB"});
  CHECK(disk_too_full("run", 120'000, 119'000).arguments() == std::vector<std::string>{"run", "120000 bytes", "119000"});
  CHECK(fs::is_directory(folder.path() + "/a/b/c"));
  CHECK(fs::is_empty(folder.path() + "/a/b/c"));
}

}  // namespace
}  // namespace dtl::checkpoint
