// Masters that lie on this node, the management host's own files for one: the server looks at them and takes them over.
#include <unistd.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "files/targets/extension.hpp"

namespace underway::files {

using node::awaitable;

namespace {

constexpr std::size_t kLentAtOnce = 256U << 10;

/// Of this node, which is the management host: the server may do all here anyway (host.exec).
os::Fd open_master(const std::string& root, const std::string& path) {
  if (const auto wrong = model::file_path_problem(path); !wrong.empty()) throw Error(Code::invalid, wrong);
  const NodeTarget target(root);
  auto fd = TargetTree(target).open_regular(path);
  if (!fd) throw Error(Code::not_found, fmt::format("'{}' does not exist", path));
  return std::move(*fd);
}

struct stat examine(const os::Fd& fd, const std::string& path) {
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
  return st;
}

}  // namespace

awaitable<MasterReply> FileExtension::master(MasterRequest request) {
  const auto root = options_.root;
  Stamp known = masters_[request.path];
  auto look = [&known, root, request] {
    MasterReply reply;
    const os::Fd fd = open_master(root, request.path);
    const auto status = examine(fd, request.path);
    const std::string what = "'" + request.path + "'";
    // The server asks every few seconds: a large one is not read each time.
    if (!known.fits(status)) known = stamp_of(status, file_digest(fd, what));
    if (known.digest == request.have) return reply;
    if (status.st_size <= static_cast<std::int64_t>(model::kPieceBytes)) {
      reply.data = base64_encode(os::read_all(fd, model::kPieceBytes, what));
    } else {
      reply.digest = known.digest;
      reply.size = status.st_size;
    }
    return reply;
  };
  auto reply = co_await async::on_pool(context_->pool, look);
  masters_[request.path] = std::move(known);
  co_return reply;
}

awaitable<void> FileExtension::serve(std::string method, boost::json::value header,
                                     std::shared_ptr<link::Stream> stream) {
  if (method != "files.master") throw Error(Code::unsupported, fmt::format("this agent has no stream '{}'", method));
  const auto request = json::decode<MasterRequest>(header);
  os::Fd fd;
  auto open = [&] { fd = open_master(options_.root, request.path); };
  co_await async::on_pool(context_->pool, open);
  std::string bytes;
  std::size_t sent = 0;
  auto read = [&] {
    bytes.resize(kLentAtOnce);
    const ssize_t n = ::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(sent));
    if (n < 0) throw errno_error(errno, fmt::format("cannot read '{}'", request.path));
    bytes.resize(static_cast<std::size_t>(n));
  };
  // One that grows meanwhile is another file by then, which the server sees by its digest.
  while (sent <= model::kFileBytes) {
    co_await async::on_pool(context_->pool, read);
    if (bytes.empty()) break;
    sent += bytes.size();
    co_await stream->write(std::exchange(bytes, {}));
  }
  stream->end();
}

}  // namespace underway::files
