// Locks on files, which the system ends with the process.
#include "runtime/plan/unfinished.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>

namespace dtl {

void hold_unfinished(int file) { static_cast<void>(::flock(file, LOCK_EX | LOCK_NB)); }

void remove_unfinished(const std::string& folder, const std::function<bool(std::string_view name)>& is_one) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    if (!is_one(entries->path().filename().string())) continue;
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) continue;
    // One that is made at this moment and not held yet is lost to its maker, who does without a cache then.
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    ::close(file);
  }
}

}  // namespace dtl
