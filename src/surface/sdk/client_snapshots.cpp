// The state of a server in a file.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "crypto/hasher.hpp"
#include "os/file.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

/// As long as a large state needs to be copied, or verified and put in the place of the old one.
constexpr Duration kSnapshotPatience = std::chrono::hours(1);
constexpr std::size_t kLargest = std::size_t{4} << 30;

/// A file that is there under its name only once it is whole.
class Partial {
 public:
  explicit Partial(const std::string& path)
      : path_(path),
        partial_(path + ".partial"),
        file_(os::open_file(partial_, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600)) {}
  ~Partial() {
    if (!whole_) ::unlink(partial_.c_str());
  }
  void write(std::string_view bytes) { os::write_all(file_, bytes, fmt::format("'{}'", partial_)); }
  void finish() {
    if (::fsync(file_.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", partial_));
    if (std::rename(partial_.c_str(), path_.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}'", path_));
    whole_ = true;
  }

 private:
  std::string path_, partial_;
  os::Fd file_;
  bool whole_ = false;
};

}  // namespace

std::int64_t Client::save_snapshot(const std::string& path) {
  Partial file(path);
  crypto::Hasher hasher;
  std::string expected;
  std::int64_t size = 0;
  stream(
      "/v1/operator/snapshot", {},
      [&](std::string_view bytes) {
        hasher.add(bytes);
        file.write(bytes);
        size += static_cast<std::int64_t>(bytes.size());
        return true;
      },
      [&](const http::Headers& headers) { expected = headers.find("Digest").value_or(""); });
  if (expected != "sha-256=" + base64_encode(hasher.finish()))
    throw Error(Code::internal, "what came is not the snapshot that the server made")
        .because("its digest is another one")
        .advise("try again");
  file.finish();
  return size;
}

void Client::restore_snapshot(const std::string& path, bool force) {
  http::Query query;
  if (force) query.add("force", "true");
  send("PUT", "/v1/operator/snapshot", std::move(query), os::read_file(path, kLargest), {}, kSnapshotPatience);
}

}  // namespace underway::sdk
