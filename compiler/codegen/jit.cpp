// Jit: known text, then the disk cache, then compilers in parallel; what is new is linked at once.
#include "compiler/codegen/jit.h"

#include <llvm/Config/llvm-config.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "compiler/codegen/compile.h"
#include "compiler/codegen/object_cache.h"
#include "compiler/codegen/session.h"
#include "compiler/source/check.h"

namespace dtl::codegen {
namespace {

kernel::Kernel parse_entry(const plan::KernelEntry& entry) {
  std::string error;
  auto result = kernel::parse(entry.text, &error);
  DTL_CHECK(result, "kernel `{}`: {}", entry.name, error);
  return *std::move(result);
}

/// A symbol that says what the kernel is for; made of the key it is unique.
std::string symbol(const std::string& key) { return "kernel_" + key; }

std::string readable(const std::string& name) {
  std::string result = name.empty() ? "kernel" : name;
  for (char& c : result) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return result;
}

}  // namespace

struct Jit::Parts {
  JitOptions options;
  Host target;
  ObjectCache cache;
  std::unique_ptr<Session> session = {};
  std::map<std::string, plan::KernelFunction, std::less<>> known = {};  ///< by text
  Stats stats = {};

  /// Objects of the entries that the cache lacks, by all threads.
  void make(const std::vector<const plan::KernelEntry*>& entries, std::vector<Object>& objects, const std::vector<size_t>& missing) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      Compiler compiler(target, options.opt_level);
      for (size_t at = next++; at < missing.size(); at = next++) {
        const size_t i = missing[at];
        const ContextNote note(fmt::format("compiling kernel `{}`", entries[i]->name));
        objects[i].bytes = compiler.object(parse_entry(*entries[i]), objects[i].name);
      }
    };
    const size_t threads = std::min(missing.size(), static_cast<size_t>(std::max(options.threads, 1)));
    std::vector<std::thread> helpers;
    for (size_t t = 1; t < threads; ++t) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  }
};

Jit::Jit(JitOptions options) {
  const int bits = options.vector_bits;
  ObjectCache cache(options.cache_directory);
  parts_ = std::make_unique<Parts>(Parts{std::move(options), host(bits), std::move(cache)});
}
Jit::~Jit() = default;

std::vector<plan::KernelFunction> Jit::compile(const std::vector<plan::KernelEntry>& entries) {
  const auto start = std::chrono::steady_clock::now();
  Parts& parts = *parts_;
  std::vector<const plan::KernelEntry*> fresh;
  for (const auto& entry : entries) {
    if (parts.known.emplace(entry.text, nullptr).second) fresh.push_back(&entry);
  }
  if (!fresh.empty()) {
    std::vector<Object> objects;
    std::vector<std::string> keys;
    std::vector<size_t> missing;
    for (const auto* entry : fresh) {
      keys.push_back(cache_key(entry->text, parts.target, parts.options.opt_level));
      auto found = parts.cache.find(keys.back());
      if (!found) missing.push_back(objects.size());
      objects.push_back({symbol(keys.back()), found.value_or("")});
    }
    if (!missing.empty()) parts.make(fresh, objects, missing);
    for (const size_t i : missing) parts.cache.put(keys[i], objects[i].bytes);
    parts.stats.compiled += static_cast<int>(missing.size());
    parts.stats.from_cache += static_cast<int>(fresh.size() - missing.size());
    if (!parts.session) parts.session = std::make_unique<Session>();
    const auto functions = parts.session->add(std::move(objects));
    for (size_t i = 0; i < fresh.size(); ++i) parts.known[fresh[i]->text] = functions[i];
  }
  std::vector<plan::KernelFunction> result;
  for (const auto& entry : entries) result.push_back(parts.known.find(entry.text)->second);
  parts.stats.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::string Jit::llvm_text(const plan::KernelEntry& entry) {
  return Compiler(parts_->target, parts_->options.opt_level).llvm_text(parse_entry(entry), readable(entry.name));
}

std::string Jit::asm_text(const plan::KernelEntry& entry) {
  return Compiler(parts_->target, parts_->options.opt_level).asm_text(parse_entry(entry), readable(entry.name));
}

Jit::Stats Jit::stats() const { return parts_->stats; }

std::string default_cache_directory() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string chosen = variable("DTL_CACHE"); !chosen.empty()) return chosen;
  // A relative path is no valid value there (XDG Base Directory Specification): every working directory would have a cache.
  if (const std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/dslc";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/dslc";
  return {};
}

std::string_view llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace dtl::codegen
