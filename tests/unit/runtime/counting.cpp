// The counting functions.
#include "counting.h"

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>

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

namespace dtl::testing {

void start_counting() {
  allocations = locks = thread_starts = 0;
  counting = true;
}

Counts stop_counting() {
  counting = false;
  return {allocations, locks, thread_starts};
}

}  // namespace dtl::testing
#else
namespace dtl::testing {

void start_counting() {}
Counts stop_counting() { return {}; }

}  // namespace dtl::testing
#endif
