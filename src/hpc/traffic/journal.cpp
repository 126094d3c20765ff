#include "traffic/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/crc.hpp>

#include "base/error.hpp"

namespace underway::traffic {
namespace {

constexpr std::string_view kHeader = "UWSURVEY1\n";
constexpr std::string_view kMarker = "\x89UWJ";
constexpr std::size_t kFrame = 12;  // marker, length, checksum
constexpr std::size_t kMostRead = 1U << 30;

std::uint32_t checksum(std::string_view body) {
  boost::crc_32_type crc;
  crc.process_bytes(body.data(), body.size());
  return crc.checksum();
}

void append_u32(std::string& out, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}
std::uint32_t u32_at(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(text[at + i])} << (8 * i);
  return value;
}

std::string framed(const std::string& body) {
  std::string record(kMarker);
  append_u32(record, static_cast<std::uint32_t>(body.size()));
  append_u32(record, checksum(body));
  return record + body;
}

/// The body of the whole record that begins at `at`; nothing when there is none.
std::optional<std::string_view> record_at(std::string_view text, std::size_t at) {
  if (text.size() - at < kFrame || text.substr(at, kMarker.size()) != kMarker) return {};
  const std::size_t size = u32_at(text, at + 4);
  if (size > text.size() - at - kFrame) return {};
  const std::string_view body = text.substr(at + kFrame, size);
  if (checksum(body) != u32_at(text, at + 8)) return {};
  return body;
}

/// Calls `take` for each whole record; returns where the last one ends. What lies between them is told to `skipped`.
template <class Take, class Skipped>
std::size_t each_record(std::string_view text, const Take& take, const Skipped& skipped) {
  std::size_t at = kHeader.size();
  std::size_t end = at;
  while (at < text.size()) {
    if (const auto body = record_at(text, at)) {
      if (at > end) skipped(end, at - end);
      take(*body, at);
      at += kFrame + body->size();
      end = at;
      continue;
    }
    const std::size_t next = text.find(kMarker, at + 1);
    at = next == std::string_view::npos ? text.size() : next;
  }
  if (at > end) skipped(end, at - end);
  return end;
}

std::string read_whole(const std::string& path) {
  std::string text = os::read_file(path, kMostRead);
  if (!text.starts_with(kHeader))
    throw Error(Code::invalid, fmt::format("'{}' is no journal of a survey", path))
        .because("it does not begin with UWSURVEY1");
  return text;
}

}  // namespace

bool is_journal(const std::string& path) {
  // What is no file cannot be looked into without taking from it: it is a capture.
  struct stat status{};
  if (path == "-" || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))) return false;
  const auto file = os::open_file(path, O_RDONLY | O_NOCTTY);
  std::array<char, kHeader.size()> start{};
  const ssize_t got = ::pread(file.get(), start.data(), start.size(), 0);
  return got == static_cast<ssize_t>(start.size()) && std::string_view(start.data(), start.size()) == kHeader;
}

void read_journal(const std::string& path, Tally& tally, JournalNotes& notes) {
  const std::string text = read_whole(path);
  each_record(
      text,
      [&](std::string_view body, std::size_t at) {
        try {
          decode_record(body, tally, notes);
        } catch (const Error& e) {
          notes.problems.push_back(fmt::format("{}: the record at offset {}: {}", path, at, e.one_line()));
        }
      },
      [&](std::size_t at, std::size_t bytes) {
        notes.problems.push_back(
            fmt::format("{}: {} bytes at offset {} are no whole record and were skipped", path, bytes, at));
      });
}

Journal::Journal(std::string path, const std::string& source, Surveyed surveyed, std::uint64_t limit)
    : path_(std::move(path)),
      lock_(os::FileLock::acquire(path_ + ".lock", "underway survey capture")),
      source_(source),
      surveyed_(std::move(surveyed)),
      limit_(limit) {
  open_for_append();
}

void Journal::open_for_append() {
  file_ = os::open_file(path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_APPEND, 0600);
  const off_t length = ::lseek(file_.get(), 0, SEEK_END);
  if (length < 0) throw errno_error(errno, fmt::format("cannot use '{}' as a journal", path_));
  size_ = static_cast<std::uint64_t>(length);
  if (size_ == 0) {
    os::write_all(file_, kHeader, path_);
    size_ = kHeader.size();
    return;
  }
  // A tail that a crash tore off would hide what follows it no longer than until the next marker; away with it.
  const std::string text = read_whole(path_);
  size_ = each_record(text, [](std::string_view, std::size_t) {}, [](std::size_t, std::size_t) {});
  if (size_ < text.size() && ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    throw errno_error(errno, fmt::format("cannot cut the torn end off journal '{}'", path_));
}

void Journal::append(Tally& tally) {
  const std::string record = framed(encode_record(tally, {{source_}, surveyed_, {}}));
  os::write_all(file_, record, path_);
  if (::fdatasync(file_.get()) != 0) throw errno_error(errno, fmt::format("cannot write journal '{}'", path_));
  size_ += record.size();
  tally.begin_interval();
  if (size_ > limit_) sum_up();
}

void Journal::sum_up() {
  Tally all;
  JournalNotes notes;
  read_journal(path_, all, notes);
  const std::string text = std::string(kHeader) + framed(encode_record(all, notes));
  os::write_file(path_, text, 0600);
  open_for_append();
  // Sums that fill the file by themselves are not summed up again and again.
  limit_ = std::max(limit_, 2 * size_);
}

}  // namespace underway::traffic
