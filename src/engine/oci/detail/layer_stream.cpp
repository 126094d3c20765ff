#include "oci/detail/layer_stream.hpp"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::oci {
namespace {

constexpr std::size_t kPiece = 1U << 20;
constexpr std::size_t kAhead = 4;  ///< pieces
/// What zstd -19 and less want; --ultra and --long may want more memory than a stranger is given.
constexpr int kZstdWindowLog = 27;

struct Stopped {};

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }
bool is_zstd(std::string_view bytes) {
  // A frame, or one that is to be skipped (RFC 8878, section 3.1).
  return bytes.starts_with("\x28\xb5\x2f\xfd") ||
         (bytes.size() >= 4 && (bytes[0] & 0xf0) == 0x50 && bytes.substr(1, 3) == "\x2a\x4d\x18");
}

}  // namespace

/// Fills pieces and hands them over; waits while the reader has enough.
class LayerStream::Output {
 public:
  explicit Output(LayerStream& stream) : stream_(stream) {}

  char* space() {
    if (piece_.empty()) take_empty();
    return piece_.data() + used_;
  }
  std::size_t room() const { return piece_.size() - used_; }
  void commit(std::size_t size) {
    used_ += size;
    total_ += static_cast<std::int64_t>(size);
    stream_.check(total_);
    if (used_ == piece_.size()) hand_over();
  }
  void hand_over() {
    if (used_ == 0) return;
    piece_.resize(used_);
    const std::lock_guard held(stream_.mutex_);
    stream_.full_.push_back(std::move(piece_));
    piece_.clear();
    used_ = 0;
    stream_.changed_.notify_all();
  }

 private:
  void take_empty() {
    std::unique_lock held(stream_.mutex_);
    stream_.changed_.wait(held, [&] { return stream_.stopped_ || stream_.full_.size() < kAhead; });
    if (stream_.stopped_) throw Stopped{};
    if (!stream_.empty_.empty()) {
      piece_ = std::move(stream_.empty_.front());
      stream_.empty_.pop_front();
    }
    piece_.resize(kPiece);
  }

  LayerStream& stream_;
  std::vector<char> piece_;
  std::size_t used_ = 0;
  std::int64_t total_ = 0;
};

LayerStream::LayerStream(const os::Fd& file, std::string name, std::string packed_digest, const StreamLimits& limits)
    : file_(file), name_(std::move(name)), packed_digest_(std::move(packed_digest)), limits_(limits), packed_(kPiece) {
  thread_ = std::jthread([this] { produce(); });
}

LayerStream::~LayerStream() {
  const std::lock_guard held(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::string_view LayerStream::next() {
  std::unique_lock held(mutex_);
  if (!current_.empty()) empty_.push_back(std::move(current_));
  current_.clear();
  changed_.notify_all();
  changed_.wait(held, [&] { return !full_.empty() || ended_; });
  if (full_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return {};
  }
  current_ = std::move(full_.front());
  full_.pop_front();
  return {current_.data(), current_.size()};
}

void LayerStream::produce() {
  std::exception_ptr failure;
  try {
    Output out(*this);
    const std::string_view first = read();
    if (is_gzip(first))
      inflate_gzip(out, first);
    else if (is_zstd(first))
      inflate_zstd(out, first);
    else
      read_plain(out, first);
    out.hand_over();
    if (!packed_digest_.empty() && "sha256:" + hex(hasher_.finish()) != packed_digest_)
      throw Error(Code::denied, fmt::format("the layer '{}' is not what it is said to be", name_))
          .because("its bytes have another digest");
  } catch (const Stopped&) {
    return;
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard held(mutex_);
  failure_ = failure;
  ended_ = true;
  changed_.notify_all();
}

std::string_view LayerStream::read() {
  while (true) {
    const ssize_t got = ::pread(file_.get(), packed_.data(), packed_.size(), read_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, fmt::format("cannot read the layer '{}'", name_));
    const std::string_view bytes(packed_.data(), static_cast<std::size_t>(got));
    if (!packed_digest_.empty()) hasher_.add(bytes);
    read_ += got;
    return bytes;
  }
}

void LayerStream::check(std::int64_t out) const {
  if (out > limits_.bytes)
    throw Error(Code::too_large, fmt::format("the layer '{}' unpacks to more than is allowed", name_))
        .because("more than " + human_bytes(static_cast<std::uint64_t>(limits_.bytes)));
  if (out > limits_.ratio_from && out / limits_.ratio > read_)
    throw Error(Code::too_large, fmt::format("the layer '{}' unpacks to more than is allowed", name_))
        .because(fmt::format("{} came out of {}, more than {} times as much",
                             human_bytes(static_cast<std::uint64_t>(out)),
                             human_bytes(static_cast<std::uint64_t>(read_)), limits_.ratio));
}

void LayerStream::read_plain(Output& out, std::string_view bytes) {
  for (; !bytes.empty(); bytes = read())
    while (!bytes.empty()) {
      char* to = out.space();
      const std::size_t size = std::min(bytes.size(), out.room());
      std::copy_n(bytes.begin(), size, to);
      out.commit(size);
      bytes.remove_prefix(size);
    }
}

void LayerStream::inflate_gzip(Output& out, std::string_view bytes) {
  const auto damaged = [&](const char* why) {
    return Error(Code::invalid, fmt::format("cannot read the layer '{}'", name_)).because(why);
  };
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (::inflateInit2(&stream, kGzipOnly) != Z_OK) throw Error(Code::internal, "cannot prepare zlib");
  const std::unique_ptr<z_stream, decltype(&::inflateEnd)> owner(&stream, &::inflateEnd);
  bool between = false;  // members
  for (; !bytes.empty(); bytes = read()) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    while (stream.avail_in > 0) {
      if (std::exchange(between, false)) ::inflateReset(&stream);
      stream.next_out = reinterpret_cast<Bytef*>(out.space());
      const std::size_t room = out.room();
      stream.avail_out = static_cast<uInt>(room);
      const int result = ::inflate(&stream, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        throw damaged(stream.msg != nullptr ? stream.msg : "it is damaged");
      out.commit(room - stream.avail_out);
      between = result == Z_STREAM_END;
      if (result == Z_BUF_ERROR && stream.avail_out > 0) break;
    }
    // A full piece may have left output in zlib's window: the next round, or this one, takes it.
    while (!between) {
      stream.next_out = reinterpret_cast<Bytef*>(out.space());
      const std::size_t room = out.room();
      stream.avail_out = static_cast<uInt>(room);
      const int result = ::inflate(&stream, Z_NO_FLUSH);
      if (result == Z_BUF_ERROR) break;
      if (result != Z_OK && result != Z_STREAM_END) throw damaged(stream.msg != nullptr ? stream.msg : "it is damaged");
      out.commit(room - stream.avail_out);
      between = result == Z_STREAM_END;
    }
  }
  if (!between) throw damaged("it ends too early");
}

void LayerStream::inflate_zstd(Output& out, std::string_view bytes) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(), &ZSTD_freeDStream);
  if (!stream) throw Error(Code::internal, "cannot prepare zstd");
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
  std::size_t wanted = 0;  // 0: a frame has ended
  for (; !bytes.empty(); bytes = read()) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool full = false;
    while (in.pos < in.size || full) {
      char* to = out.space();
      ZSTD_outBuffer room{to, out.room(), 0};
      wanted = ZSTD_decompressStream(stream.get(), &room, &in);
      if (ZSTD_isError(wanted) != 0)
        throw Error(Code::invalid, fmt::format("cannot read the layer '{}'", name_)).because(ZSTD_getErrorName(wanted));
      full = room.pos == room.size && wanted != 0;
      out.commit(room.pos);
    }
  }
  if (wanted != 0)
    throw Error(Code::invalid, fmt::format("cannot read the layer '{}'", name_)).because("it ends too early");
}

}  // namespace underway::oci
