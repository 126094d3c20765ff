#include "base/random.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <sys/random.h>

#include <cerrno>

namespace underway {
namespace {

std::string format_uuid(std::string bytes) {
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  std::string text = hex(bytes);
  for (const std::size_t dash : {8u, 13u, 18u, 23u}) text.insert(dash, 1, '-');
  return text;
}

}  // namespace

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::getrandom(bytes.data() + done, size - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, "cannot read random bytes from the kernel");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string SystemIds::uuid() { return format_uuid(random_bytes(16)); }

std::string SeededIds::uuid() {
  std::string bytes(16, '\0');
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t word = engine_();
    std::memcpy(bytes.data() + half * 8, &word, 8);
  }
  return format_uuid(bytes);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

}  // namespace underway
