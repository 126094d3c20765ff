// Also part of the keeper program: libc only, no allocation.
#include "keeper/log_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace underway::keeper {

void LogFile::begin(int directory, const char* prefix, std::uint32_t index, std::uint32_t max_files,
                    std::uint64_t max_bytes) {
  close();
  directory_ = directory;
  index_ = index;
  max_files_ = max_files > 0 ? max_files : 1;
  max_bytes_ = max_bytes > 0 ? max_bytes : 1;
  prefix_size_ = strnlen(prefix, sizeof name_ - 16);
  memcpy(name_, prefix, prefix_size_);
  open();  // what fails now is tried again with the first byte
}

const char* LogFile::name(std::uint32_t index) {
  char digits[12];
  std::size_t n = sizeof digits;
  digits[--n] = '\0';
  do digits[--n] = static_cast<char>('0' + index % 10);
  while ((index /= 10) != 0);
  name_[prefix_size_] = '.';
  memcpy(name_ + prefix_size_ + 1, digits + n, sizeof digits - n);
  return name_;
}

bool LogFile::open() {
  // Not blocking, or a pipe put there in place of the file would hold us for ever.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const auto is_ours = [this] {
    struct stat st{};
    if (file_ < 0 || fstat(file_, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) return false;
    size_ = static_cast<std::uint64_t>(st.st_size);
    return true;
  };
  file_ = openat(directory_, name(index_), kFlags, 0644);
  if (is_ours()) return true;
  const bool in_the_way = file_ >= 0 || errno == ELOOP || errno == ENXIO;
  close();
  if (!in_the_way) return false;
  unlinkat(directory_, name(index_), 0);
  file_ = openat(directory_, name(index_), kFlags | O_EXCL, 0644);
  if (is_ours()) return true;
  close();
  return false;
}

void LogFile::rotate() {
  close();
  ++index_;
  if (index_ >= max_files_) unlinkat(directory_, name(index_ - max_files_), 0);
}

std::size_t LogFile::write(const char* bytes, std::size_t size) {
  while (size > 0) {
    if (file_ < 0 && !open()) return size;
    if (size_ >= max_bytes_) {
      rotate();
      continue;
    }
    std::size_t part = size;
    if (part > max_bytes_ - size_) {
      part = static_cast<std::size_t>(max_bytes_ - size_);
      // Break after the last line that fits, so that a line lies in one file; one too long for that is cut.
      const void* newline = memrchr(bytes, '\n', part);
      if (newline != nullptr)
        part = static_cast<std::size_t>(static_cast<const char*>(newline) - bytes) + 1;
      else if (size_ > 0 && memchr(bytes, '\n', size) != nullptr && size <= max_bytes_) {
        rotate();
        continue;
      }
    }
    const ssize_t n = ::write(file_, bytes, part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return size;
    const auto written = static_cast<std::size_t>(n);
    size_ += written;
    bytes += written;
    size -= written;
    if (size > 0 && written == part) rotate();
  }
  return 0;
}

void LogFile::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  size_ = 0;
}

}  // namespace underway::keeper
