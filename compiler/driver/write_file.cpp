// Beside the file first, then renamed.
#include "compiler/driver/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/plan/fault.h"

namespace dtl::driver {
namespace {

/// Gives errno, 0 for success.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(file) == 0 ? 0 : errno;
}

/// What a new file may be for others, as any program makes it.
mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void replace_file(const std::string& path, std::string_view text) {
  std::error_code failed;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, failed);
  const std::string target = failed ? path : resolved.string();
  struct stat old{};
  const mode_t mode = ::stat(target.c_str(), &old) == 0 ? old.st_mode & 07777 : usual_mode();

  std::string fresh = target + ".XXXXXX";
  const int file = ::mkstemp(fresh.data());
  if (file < 0) throw Fault(6004, {path + ": " + std::strerror(errno)});
  int error = write_all(file, text);
  if (error == 0 && ::fchmod(file, mode) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(fresh.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(fresh.c_str());
  throw Fault(6004, {path + ": " + std::strerror(error)});
}

bool create_file(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) throw Fault(6005, {path, std::strerror(errno)});
  int error = write_all(file, text);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0) return true;
  ::unlink(path.c_str());
  throw Fault(6005, {path, std::strerror(error)});
}

}  // namespace dtl::driver
