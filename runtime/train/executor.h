// Executor: runs the entries of a Plan on the threads of this process, one team of threads per replica.
//
// takes:    an Executable, and how many replicas and threads there are
// gives:    entry points to call, states to read and write by path, counters
// promises: no allocation, lock or thread start in `run` after the first run of an entry with as many rows; the same bits
//           on every run with the same topology and inputs
// print it: `dslc emit --stage plan`
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/source.h"
#include "runtime/plan/plan.h"

namespace dtl::train {

struct Topology {
  int replicas = 1;  ///< the product of the plan's mesh axes
  int threads_per_replica = 1;

  int workers() const { return replicas * threads_per_replica; }
};
/// The replicas of `plan`'s mesh on `cores`: each gets at least one thread.
Topology topology_of(const plan::Plan& plan, int cores);

class Executor {
 public:
  /// Allocates arenas and states (zeroed) and starts the threads.
  Executor(const plan::Executable& executable, Topology topology);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Index in Plan::entries, or −1.
  int find(std::string_view entry) const;

  /// Runs one entry on the global batch and returns when every replica has finished. `fields[i]` is the field of
  /// `batch.source` that the entry's input i reads, in the order of plan::Entry::inputs. An entry without inputs takes an
  /// empty batch. Batches larger than the plan's bound are our fault. The caller's thread is one of the workers. The first
  /// run with a number of rows settles all sizes for it and compiles products of sizes that are new. A Fault where the program
  /// used a number that is none as an index.
  void run(int entry, const data::Batch& batch = {}, std::span<const int> fields = {});

  /// The memory of a state, by index in Plan::states; of one that each replica has its own of, the first replica's. Not while
  /// `run` is running.
  std::span<std::byte> state(int index);
  std::span<const std::byte> state(int index) const;
  /// Does each replica hold a part of it only? Then `read` and `write` have the whole value, row-major; for others they copy.
  bool in_parts(int index) const;
  int64_t whole_bytes(int index) const;
  void read(int index, std::span<std::byte> whole) const;
  void write(int index, std::span<const std::byte> whole);
  /// A replica's part of an output, after a run of its entry on `rows` rows: which of them, and their elements.
  struct Rows {
    int64_t begin, count;
    const std::byte* elements;
  };
  Rows rows_of(int index, int64_t rows, int replica) const;
  /// Index in Plan::states, or −1.
  int find_state(std::string_view path, plan::StateRole role) const;
  /// The first element of a state as a double, whatever its dtype.
  double scalar(int index, int replica = 0) const;
  void set_scalar(int index, double value);
  /// Every element of a state, each replica's where they have their own, to its identity.
  void reset(int index);

  /// Rows that each replica has worked on, since the start, over runs of entries with inputs.
  const std::vector<int64_t>& rows_of_replicas() const;

  /// With `on`, measures what each step takes on worker 0 from now on; the measurements so far are dropped.
  void profile(bool on);
  /// The mean time of each step, by entry, for people.
  std::string profile_table() const;

  const plan::Plan& plan() const;
  Topology topology() const;

 private:
  /// After a run: a Fault where a state that is `least` or `most` is out of its range.
  void check_indices() const;
  const std::byte* address(int index, int replica) const;  ///< of a state

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dtl::train
