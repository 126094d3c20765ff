#include "vm/state/stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/hasher.hpp"

namespace underway::vm {
namespace {

constexpr int kLevel = 1;
constexpr std::uint64_t kBehind = 16U << 20;

void require(std::size_t result, const std::string& path) {
  if (ZSTD_isError(result) == 0) return;
  throw Error(Code::invalid, fmt::format("'{}' holds no machine's memory", path)).because(ZSTD_getErrorName(result));
}

/// Nothing at the end.
std::size_t read_some(const os::Fd& from, std::vector<char>& into, Duration patience) {
  for (;;) {
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
    if (!os::wait_for(from.get(), POLLIN, static_cast<int>(limit)))
      throw Error(Code::timeout, "QEMU sends no more of the machine's memory")
          .because(fmt::format("nothing came for {}", human_duration(patience)));
    const ssize_t n = ::read(from.get(), into.data(), into.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == ECONNRESET) return 0;  // its end, with something of ours unread
    if (errno != EINTR && errno != EAGAIN) throw errno_error(errno, "cannot read the machine's memory");
  }
}

void send_all(const os::Fd& to, std::string_view bytes, Duration patience) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      const auto limit = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
      if (!os::wait_for(to.get(), POLLOUT, static_cast<int>(limit)))
        throw Error(Code::timeout, "QEMU takes no more of the machine's memory")
            .because(fmt::format("it took nothing for {}", human_duration(patience)));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      throw Error(Code::unavailable, "QEMU stopped reading the machine's memory");
    } else if (errno != EINTR) {
      throw errno_error(errno, "cannot give QEMU the machine's memory");
    }
  }
}

}  // namespace

Stored pack(const os::Fd& from, const os::Fd& to, const std::string& path, Duration patience) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  // Beside this thread, which reads, takes the digest and writes. Refused by a libzstd without threads, and then not.
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_nbWorkers,
                         static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U)));
  std::vector<char> in(1U << 20), out(ZSTD_CStreamOutSize());
  crypto::Hasher hasher;
  Stored stored;
  std::uint64_t begun = 0;
  for (bool last = false; !last;) {
    const auto size = read_some(from, in, patience);
    last = size == 0;
    stored.raw_bytes += size;
    ZSTD_inBuffer input{in.data(), size, 0};
    for (bool more = true; more;) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      const auto left = ZSTD_compressStream2(context.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
      require(left, path);
      more = last ? left != 0 : input.pos < input.size;
      const std::string_view bytes(out.data(), output.pos);
      os::write_all(to, bytes, fmt::format("'{}'", path));
      hasher.add(bytes);
      stored.stored_bytes += bytes.size();
      // On its way to the disk while the rest comes, not all of it in the fsync at the end.
      if (stored.stored_bytes - begun >= kBehind) {
        ::sync_file_range(to.get(), static_cast<off_t>(begun), static_cast<off_t>(kBehind), SYNC_FILE_RANGE_WRITE);
        begun += kBehind;
      }
    }
  }
  stored.sha256 = hex(hasher.finish());
  return stored;
}

void unpack(const os::Fd& from, const std::string& path, const os::Fd& to, Duration patience) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  std::vector<char> in(1U << 20), out(ZSTD_DStreamOutSize());
  std::size_t expected = 1;
  for (;;) {
    const ssize_t size = ::read(from.get(), in.data(), in.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
    if (size == 0) break;
    ZSTD_inBuffer input{in.data(), static_cast<std::size_t>(size), 0};
    while (input.pos < input.size) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      expected = ZSTD_decompressStream(context.get(), &output, &input);
      require(expected, path);
      send_all(to, {out.data(), output.pos}, patience);
    }
  }
  if (expected != 0) throw Error(Code::invalid, fmt::format("'{}' is cut short", path));
}

std::string file_digest(const os::Fd& file, const std::string& path) {
  crypto::Hasher hasher;
  std::vector<char> in(1U << 20);
  for (off_t at = 0;;) {
    const ssize_t size = ::pread(file.get(), in.data(), in.size(), at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
    if (size == 0) return hex(hasher.finish());
    hasher.add({in.data(), static_cast<std::size_t>(size)});
    at += size;
  }
}

StreamPair open_stream() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw errno_error(errno, "cannot make a stream");
  StreamPair pair{os::Fd(ends[0]), os::Fd(ends[1])};
  // As far as net.core.wmem_max lets it be: each wake-up then moves more.
  const int size = 1 << 20;
  for (const auto* end : {&pair.ours, &pair.theirs}) {
    ::setsockopt(end->get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ::setsockopt(end->get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  }
  return pair;
}

}  // namespace underway::vm
