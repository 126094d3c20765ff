#include "snapshot/state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "os/fd.hpp"

namespace underway::snapshot {
namespace {

constexpr std::string_view kMark = "UWSTATE1";
constexpr std::uint64_t kEnd = 0xffffffff;
constexpr std::size_t kBuffer = 1U << 18;

std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
  return out;
}

std::unique_ptr<std::FILE, int (*)(std::FILE*)> open_stream(const std::string& path, int flags, const char* mode) {
  os::Fd fd = os::open_file(path, flags, 0600);
  std::FILE* raw = ::fdopen(fd.get(), mode);
  if (raw == nullptr) throw errno_error(errno, fmt::format("cannot open '{}'", path));
  static_cast<void>(fd.release());
  std::setvbuf(raw, nullptr, _IOFBF, kBuffer);
  return {raw, &std::fclose};
}

}  // namespace

StateWriter::StateWriter(const std::string& path)
    : path_(path), file_(open_stream(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, "wb")) {
  write(kMark);
}

void StateWriter::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    throw errno_error(errno, fmt::format("cannot write '{}'", path_));
  bytes_ += static_cast<std::int64_t>(bytes.size());
}

void StateWriter::add(const store::KeyValue& kv) {
  std::string head = little_endian(kv.key.size(), 4) + little_endian(kv.value.size(), 4);
  for (const std::int64_t number : {kv.create_revision, kv.mod_revision, kv.version})
    head += little_endian(static_cast<std::uint64_t>(number), 8);
  write(head);
  write(kv.key);
  write(kv.value);
  ++count_;
}

std::int64_t StateWriter::finish() {
  write(little_endian(kEnd, 4) + little_endian(count_, 8));
  if (std::fflush(file_.get()) != 0) throw errno_error(errno, fmt::format("cannot write '{}'", path_));
  file_.reset();
  return bytes_;
}

StateReader::StateReader(const std::string& path) : path_(path), file_(open_stream(path, O_RDONLY | O_NOFOLLOW, "rb")) {
  struct stat st{};
  if (::fstat(::fileno(file_.get()), &st) != 0) throw errno_error(errno, fmt::format("cannot read '{}'", path_));
  left_ = static_cast<std::uint64_t>(st.st_size);
  if (read(kMark.size()) != kMark) throw Error(Code::invalid, "this is no state").because("it begins otherwise");
}

/// Never more than the file has: a length that lies takes no memory.
std::string StateReader::read(std::size_t bytes) {
  if (bytes > left_) throw Error(Code::invalid, "the state is cut short");
  std::string out(bytes, '\0');
  if (std::fread(out.data(), 1, bytes, file_.get()) != bytes)
    throw errno_error(errno, fmt::format("cannot read '{}'", path_));
  left_ -= bytes;
  return out;
}

std::uint64_t StateReader::number(std::size_t bytes) {
  const std::string raw = read(bytes);
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < bytes; ++i) out |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
  return out;
}

std::optional<store::KeyValue> StateReader::next() {
  if (ended_) return std::nullopt;
  const std::uint64_t key_size = number(4);
  if (key_size == kEnd) {
    if (number(8) != count_ || left_ != 0)
      throw Error(Code::invalid, "the state has another number of keys than it says");
    ended_ = true;
    return std::nullopt;
  }
  const std::uint64_t value_size = number(4);
  store::KeyValue kv;
  kv.create_revision = static_cast<std::int64_t>(number(8));
  kv.mod_revision = static_cast<std::int64_t>(number(8));
  kv.version = static_cast<std::int64_t>(number(8));
  kv.key = read(key_size);
  kv.value = read(value_size);
  if (kv.key <= last_) throw Error(Code::invalid, fmt::format("the state has the key '{}' in a wrong place", kv.key));
  if (kv.create_revision < 1 || kv.mod_revision < kv.create_revision || kv.version < 1)
    throw Error(Code::invalid, fmt::format("the state has no possible revisions of the key '{}'", kv.key));
  last_ = kv.key;
  ++count_;
  return kv;
}

}  // namespace underway::snapshot
