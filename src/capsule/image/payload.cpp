#include "image/payload.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::image {
namespace {

/// Reads up to `size` bytes at `offset`; less only at the end of the file.
std::size_t read_at(int fd, char* to, std::size_t size, std::int64_t offset, const std::string& name) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, to + done, size - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}' at byte {}", name, offset));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

struct Work {
  int fd;
  std::int64_t size, chunk_size;
  const std::string& name;
  std::vector<std::string>& out;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
};

void take_chunks(Work& work) {
  try {
    std::string buffer(static_cast<std::size_t>(std::min(work.chunk_size, work.size)), '\0');
    for (std::size_t i = work.next++; i < work.out.size(); i = work.next++) {
      const std::int64_t offset = static_cast<std::int64_t>(i) * work.chunk_size;
      const auto wanted = static_cast<std::size_t>(std::min(work.chunk_size, work.size - offset));
      const std::size_t got = read_at(work.fd, buffer.data(), wanted, offset, work.name);
      if (got < wanted)
        throw Error(Code::invalid, fmt::format("'{}' ends early", work.name))
            .because(fmt::format("it has {} bytes where {} were expected", offset + static_cast<std::int64_t>(got),
                                 work.size));
      work.out[i] = hex(crypto::sha256(std::string_view(buffer).substr(0, wanted)));
    }
  } catch (...) {
    const std::lock_guard lock(work.mutex);
    work.failure = std::current_exception();
    work.next = work.out.size();
  }
}

}  // namespace

std::string file_digest(const os::Fd& file, const std::string& name) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  std::string buffer(1U << 18, '\0');
  std::int64_t offset = 0;
  while (const std::size_t got = read_at(file.get(), buffer.data(), buffer.size(), offset, name)) {
    EVP_DigestUpdate(context.get(), buffer.data(), got);
    offset += static_cast<std::int64_t>(got);
    if (got < buffer.size()) break;
  }
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::vector<std::string> chunk_digests(const os::Fd& file, std::int64_t size, std::int64_t chunk_size,
                                       const std::string& name) {
  std::vector<std::string> out(static_cast<std::size_t>((size + chunk_size - 1) / chunk_size));
  // The kernel reads ahead for a program that says it reads everything.
  static_cast<void>(::posix_fadvise(file.get(), 0, size, POSIX_FADV_SEQUENTIAL));
  Work work{.fd = file.get(), .size = size, .chunk_size = chunk_size, .name = name, .out = out};
  const std::size_t helpers =
      std::min<std::size_t>(out.size(), std::max(1U, std::thread::hardware_concurrency())) - (out.empty() ? 0 : 1);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < helpers; ++i) threads.emplace_back([&work] { take_chunks(work); });
    take_chunks(work);
  }
  if (work.failure) std::rethrow_exception(work.failure);
  return out;
}

}  // namespace underway::image
