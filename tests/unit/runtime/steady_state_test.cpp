// In the steady state a run allocates nothing, takes no lock and starts no thread. Counted by standing before the C
// library's functions, which sanitizers do too: there this file is empty.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "executor_testing.h"
#include "runtime/train/executor.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0}, locks{0}, thread_starts{0};

void count(std::atomic<int64_t>& what) {
  if (counting.load(std::memory_order_relaxed)) what.fetch_add(1, std::memory_order_relaxed);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  count(allocations);
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  count(allocations);
  return __libc_calloc(n, size);
}
void* realloc(void* memory, size_t size) {
  count(allocations);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count(allocations);
  return __libc_memalign(alignment, size);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  count(locks);
  return real(mutex);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) noexcept {
  static const auto real = next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  count(thread_starts);
  return real(thread, attributes, start, argument);
}
}

namespace dtl::train {
namespace {

TEST_CASE("the counters of allocations, locks and threads count") {
  allocations = locks = thread_starts = 0;
  counting = true;
  std::mutex mutex;
  std::thread([&] {
    const std::lock_guard lock(mutex);
    void* volatile memory = std::malloc(10);
    std::free(memory);
  }).join();
  counting = false;
  REQUIRE(allocations > 0);
  REQUIRE(locks > 0);
  REQUIRE(thread_starts == 1);
}

TEST_CASE("a run allocates nothing, takes no lock and starts no thread after the first one with as many rows") {
  const testing::Rows source(50);
  const std::vector<int64_t> all = {4, 8, 15, 16, 23, 42, 1, 2, 3, 5, 7, 11};
  const std::vector<int> fields = {1, 0};
  for (const Topology topology : {Topology{1, 1}, Topology{2, 1}, Topology{3, 2}}) {
    Executor executor(testing::training(topology.replicas), topology);
    const auto epoch = [&] {
      for (const size_t n : {12u, 12u, 5u, 0u}) {
        executor.run(0, {&source, std::span(all).first(n)}, fields);
        executor.run(1);
      }
    };
    epoch();
    allocations = locks = thread_starts = 0;
    counting = true;
    for (int i = 0; i < 20; ++i) epoch();
    counting = false;
    REQUIRE(allocations == 0);
    REQUIRE(locks == 0);
    REQUIRE(thread_starts == 0);
  }
}

}  // namespace
}  // namespace dtl::train

#endif
