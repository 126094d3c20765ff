#include "net/capture_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "net/detail/capture_reader.hpp"

namespace underway::net {
namespace detail {
namespace {

/// Large enough that a read costs nothing beside what is done with it, small enough to stay in a core's second cache.
constexpr std::size_t kWindow = 1U << 20;
static_assert(kWindow > 2 * CaptureFile::kMaxPacket);

}  // namespace

Window::Window(os::Fd fd) : fd_(std::move(fd)), buffer_(kWindow) {}

bool Window::read_more() {
  for (;;) {
    const ssize_t got = ::read(fd_.get(), buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, "cannot read a capture file");
    end_ += static_cast<std::size_t>(got);
    return got > 0;
  }
}

bool Window::fill(std::size_t bytes) {
  if (size() >= bytes) return true;
  std::memmove(buffer_.data(), data(), size());
  end_ -= begin_;
  begin_ = 0;
  while (size() < bytes && read_more()) {
  }
  return size() >= bytes;
}

bool Window::skip(std::uint64_t bytes) {
  while (bytes > size()) {
    bytes -= size();
    consume(size());
    begin_ = end_ = 0;
    if (!read_more()) return false;
  }
  consume(static_cast<std::size_t>(bytes));
  return true;
}

}  // namespace detail

namespace {

std::string looks_like(const detail::Window& window) {
  const std::string_view start(reinterpret_cast<const char*>(window.data()), std::min<std::size_t>(window.size(), 6));
  if (start.empty()) return "it is empty";
  if (start.starts_with("\x1f\x8b")) return "it is compressed by gzip";
  if (start.starts_with("\x28\xb5\x2f\xfd")) return "it is compressed by zstd";
  if (start.starts_with("\xfd"
                        "7zXZ"))
    return "it is compressed by xz";
  std::string bytes;
  for (const char c : start) bytes += fmt::format("{:02x} ", static_cast<unsigned char>(c));
  bytes.pop_back();
  return fmt::format("it begins with {}", bytes);
}

}  // namespace

CaptureFile::CaptureFile(os::Fd fd, std::string name) {
  detail::Window window(std::move(fd));
  try {
    window.fill(24);  // as long as the shorter of the two headers
  } catch (Error& e) {
    e.while_doing(fmt::format("reading '{}'", name));
    throw;
  }
  reader_ = detail::find_pcapng(window, name);
  if (!reader_) reader_ = detail::find_pcap(window, name);
  if (reader_) return;
  const std::string why = looks_like(window);
  Error error(Code::invalid, fmt::format("'{}' is no capture file", name));
  error.because(why + ", and neither pcap nor pcapng does");
  if (why.find("compressed") != std::string::npos) error.advise("unpack it, or pipe it: `zcat FILE | … -`");
  throw error;
}

CaptureFile CaptureFile::open(const std::string& path) {
  if (path == "-") return {os::Fd(::dup(STDIN_FILENO)), "standard input"};
  auto fd = os::open_file(path, O_RDONLY | O_NOCTTY);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // an advice: a pipe refuses it
  return {std::move(fd), path};
}

CaptureFile::CaptureFile(CaptureFile&&) noexcept = default;
CaptureFile& CaptureFile::operator=(CaptureFile&&) noexcept = default;
CaptureFile::~CaptureFile() = default;

std::size_t CaptureFile::next(std::span<Packet> out) {
  try {
    return reader_->next(out);
  } catch (Error& e) {
    e.while_doing(fmt::format("reading '{}'", name()));
    throw;
  }
}
const std::string& CaptureFile::name() const { return reader_->name(); }
const std::string& CaptureFile::problem() const { return reader_->problem(); }
std::uint64_t CaptureFile::lost() const { return reader_->lost(); }
std::uint64_t CaptureFile::offset() const { return reader_->offset(); }

namespace {
constexpr std::size_t kBatch = 256;
}

CaptureFiles::CaptureFiles(const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    if (paths.size() == 1 || path == "-") {  // cannot be opened twice
      begin(CaptureFile::open(path));
      continue;
    }
    auto file = CaptureFile::open(path);
    Packet first;
    if (file.next({&first, 1}) > 0)
      waiting_.push_back({path, first.time});
    else if (!file.problem().empty())
      problems_.push_back(file.problem());
  }
  std::sort(waiting_.begin(), waiting_.end(),
            [](const Waiting& a, const Waiting& b) { return std::tie(a.first, a.path) > std::tie(b.first, b.path); });
}

void CaptureFiles::begin(CaptureFile file) {
  open_.push_back({std::move(file), std::vector<Packet>(kBatch)});
  if (!refill(open_.back())) finish(open_.size() - 1);
}

bool CaptureFiles::refill(Open& open) {
  open.at = 0;
  open.size = open.file.next(open.batch);
  return open.size > 0;
}

void CaptureFiles::finish(std::size_t index) {
  lost_ += open_[index].file.lost();
  if (!open_[index].file.problem().empty()) problems_.push_back(open_[index].file.problem());
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
}

std::size_t CaptureFiles::next(std::span<Packet> out) {
  for (std::size_t i = open_.size(); i-- > 0;) {
    if (open_[i].at == open_[i].size && !refill(open_[i])) finish(i);
  }
  std::size_t count = 0;
  while (count < out.size()) {
    Open* earliest = nullptr;
    for (auto& open : open_) {
      if (earliest == nullptr || open.batch[open.at].time < earliest->batch[earliest->at].time) earliest = &open;
    }
    if (!waiting_.empty() && (earliest == nullptr || waiting_.back().first <= earliest->batch[earliest->at].time)) {
      const std::string path = waiting_.back().path;
      waiting_.pop_back();
      begin(CaptureFile::open(path));
      continue;
    }
    if (earliest == nullptr) break;
    out[count++] = earliest->batch[earliest->at++];
    // Reading on would take away what was handed out just now.
    if (earliest->at == earliest->size) break;
  }
  return count;
}

std::vector<std::string> CaptureFiles::problems() const {
  auto all = problems_;
  for (const auto& open : open_) {
    if (!open.file.problem().empty()) all.push_back(open.file.problem());
  }
  return all;
}

}  // namespace underway::net
