#include "server/access/audit.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/json/json_member.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace underway::server {
namespace {

/// Room is taken by so much at a time.
constexpr std::uint64_t kRoom = 1ULL << 20;
constexpr std::size_t kRecent = 1000;
constexpr std::size_t kMostChanges = 50;
constexpr std::size_t kLongestText = 1024;
constexpr std::size_t kLongestChange = 200;

/// At most so long, and always UTF-8: a path may hold any bytes, and a line that is no JSON would be lost.
std::string cut(const std::string& text, std::size_t most = kLongestText) {
  std::string out = text.substr(0, most);
  if (!is_utf8(out)) {
    for (char& c : out) {
      if ((static_cast<unsigned char>(c) & 0x80U) != 0) c = '?';
    }
  }
  return text.size() <= most ? out : out + "...";
}

/// Takes blocks beyond the end of the file: appending to it then cannot find the disk full. Where the file system
/// cannot do that (it says so), free space is all that can be looked at.
int take_blocks(int fd, std::uint64_t from, std::uint64_t length) {
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(length)) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  struct statvfs space{};
  if (::fstatvfs(fd, &space) != 0) return errno;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize >= length ? 0 : ENOSPC;
}

std::string numbered(const std::string& path, std::int64_t number) { return fmt::format("{}.{}", path, number); }

bool is_of(const boost::json::object& record, const std::string& who) {
  return who.empty() || json::text_at(record, "Accessor").starts_with(who) || json::text_at(record, "Name") == who;
}

bool answers(const AuditQuery& query, const boost::json::object& record) {
  const auto time = parse_time(json::text_at(record, "Time"));
  return time && *time >= query.since && is_of(record, query.who);
}

/// The lines of one file that the query asks for, in the order of the file.
std::vector<std::string> matching_lines(const std::string& path, const AuditQuery& query) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    boost::system::error_code failure;
    const auto value = boost::json::parse(line, failure);
    if (!failure && value.is_object() && answers(query, value.get_object())) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

bool is_of(const std::string& line, const std::string& who) {
  boost::system::error_code failure;
  const auto value = boost::json::parse(line, failure);
  return !failure && value.is_object() && is_of(value.get_object(), who);
}

std::string AuditRecord::line() const {
  boost::json::array list;
  for (std::size_t i = 0; i < changes.size() && i < kMostChanges; ++i)
    list.emplace_back(cut(changes[i], kLongestChange));
  if (changes.size() > kMostChanges) list.emplace_back(fmt::format("and {} more", changes.size() - kMostChanges));
  boost::json::object out{{"Time", format_time_exactly(time)},
                          {"RequestID", request_id},
                          {"Accessor", cut(accessor)},
                          {"Name", cut(name)},
                          {"Address", cut(address)},
                          {"Method", cut(method)},
                          {"Route", route},
                          {"Target", cut(target)},
                          {"Namespace", cut(ns)},
                          {"Subject", cut(subject)},
                          {"Before", before},
                          {"After", after},
                          {"Changes", std::move(list)},
                          {"Status", status}};
  if (!error.empty()) out["Error"] = cut(error);
  std::string text = boost::json::serialize(out);
  if (text.size() >= kMaxRecordBytes) {  // escapes made it longer than its parts
    out["Changes"] = boost::json::array{"too long to be told"};
    for (const char* key : {"Target", "Subject", "Error", "Name"}) {
      if (out.contains(key)) out[key] = "too long to be told";
    }
    text = boost::json::serialize(out);
  }
  return text;
}

struct AuditLog::Pending {
  std::string line;
  std::optional<Error> failure;
  bool done = false;
  async::Event finished;
};

AuditLog::AuditLog(async::Executor executor, async::Pool& pool, const Clock& clock, AuditOptions options)
    : options_(std::move(options)), pool_(pool), clock_(clock), tasks_(std::move(executor), "audit log") {
  if (!options_.path.empty()) open();
}

AuditLog::~AuditLog() = default;

void AuditLog::open() {
  file_ = os::Fd(::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file_.get() < 0) throw errno_error(errno, fmt::format("cannot open the audit log '{}'", options_.path));
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0)
    throw errno_error(errno, fmt::format("cannot look at the audit log '{}'", options_.path));
  if (!S_ISREG(status.st_mode))
    throw Error(Code::invalid, fmt::format("the audit log '{}' is no regular file", options_.path));
  // One that was made by hand, or restored from a backup, may be open to others.
  if ((status.st_mode & 077) != 0) ::fchmod(file_.get(), 0600);
  size_ = reserved_ = static_cast<std::uint64_t>(status.st_size);
}

void AuditLog::take_room() {
  const std::uint64_t needed = size_ + (places_ + pending_.size() + 1) * kMaxRecordBytes;
  if (needed <= reserved_) return;
  const std::uint64_t until = std::max(needed, reserved_ + kRoom);
  const int failed = take_blocks(file_.get(), size_, until - size_);
  if (failed != 0) throw errno_error(failed, fmt::format("cannot take room for the audit log '{}'", options_.path));
  reserved_ = until;
}

void AuditLog::make_ready() {
  try {
    if (failure_ && !flushing_) try_again();
    take_room();
    trouble_.reset();
  } catch (const Error& error) {
    const TimePoint now = clock_.now();
    trouble_ = Trouble{trouble_ ? trouble_->since : now, error};
    trouble_->error.advise(fmt::format("make room for '{}'; nothing needs to be restarted", options_.path));
    throw;
  }
}

std::optional<Trouble> AuditLog::trouble() {
  if (!trouble_ && !failure_) return std::nullopt;
  try {
    make_ready();
  } catch (const Error&) {  // as it was
  }
  return trouble_;
}

AuditLog::Place AuditLog::reserve() {
  if (options_.path.empty()) return Place(*this);
  try {
    make_ready();
  } catch (const Error& error) {
    if (options_.refuse_unlogged) {
      throw Error(Code::exhausted, "nothing is changed, as it could not be written to the audit log")
          .because(error.one_line())
          .advise(fmt::format("make room for '{}', or set audit.on_failure to \"warn\"", options_.path));
    }
    log::warn("audit: changes go on without being logged: {}", error.one_line());
  }
  return Place(*this);
}

/// After a failure, whether it can be written again is found out by writing. The empty line also ends one that was
/// torn.
void AuditLog::try_again() {
  write_batch("\n");
  ++size_;
  failure_.reset();
}

async::awaitable<void> AuditLog::write([[maybe_unused]] Place place, AuditRecord record) {
  const auto pending = std::make_shared<Pending>();
  pending->line = record.line() + "\n";
  if (options_.path.empty()) {
    publish({pending});
    co_return;
  }
  pending_.push_back(pending);
  if (!flushing_) {
    flushing_ = true;
    tasks_.spawn("writing", flush());
  }
  while (!pending->done) co_await pending->finished.wait();
  if (pending->failure && options_.refuse_unlogged) throw Error(*pending->failure);
}

/// Takes what is there, writes it on the pool, and goes on until nothing is left.
async::awaitable<void> AuditLog::flush() {
  while (!pending_.empty()) {
    const auto batch = std::exchange(pending_, {});
    std::string text;
    for (const auto& pending : batch) text += pending->line;
    size_ += text.size();
    auto job = [this, &text] { write_batch(text); };
    if (failure_) text.insert(0, "\n");  // what was torn ends here
    failure_.reset();
    try {
      co_await async::on_pool(pool_, job);
    } catch (const Error& error) {
      log::error("audit: {} lines were not written: {}", batch.size(), error.one_line());
      failure_ = Error(error).while_doing("writing to the audit log what was done already");
    }
    publish(batch);
    for (const auto& pending : batch) {
      pending->failure = failure_;
      pending->done = true;
      pending->finished.notify_all();
    }
    if (!failure_ && size_ >= options_.rotate_bytes) rotate();
  }
  flushing_ = false;
}

/// To those who follow: what they are told is in the file already.
void AuditLog::publish(const std::deque<std::shared_ptr<Pending>>& batch) {
  for (const auto& pending : batch) {
    recent_.push_back(pending->line.substr(0, pending->line.size() - 1));
    if (recent_.size() > kRecent) recent_.pop_front();
    ++written_;
  }
  changed_.notify_all();
}

/// On the pool.
void AuditLog::write_batch(const std::string& text) {
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t wrote = ::write(file_.get(), left.data(), left.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw errno_error(errno, fmt::format("cannot write to the audit log '{}'", options_.path));
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fdatasync(file_.get()) != 0)
    throw errno_error(errno, fmt::format("cannot synchronise the audit log '{}'", options_.path));
}

/// A few renames, between two batches. What cannot be renamed is written on: a log that is too long is a log.
void AuditLog::rotate() {
  try {
    std::error_code ignored;
    std::filesystem::remove(numbered(options_.path, options_.keep), ignored);
    for (std::int64_t number = options_.keep - 1; number >= 1; --number)
      std::filesystem::rename(numbered(options_.path, number), numbered(options_.path, number + 1), ignored);
    if (options_.keep > 0)
      std::filesystem::rename(options_.path, numbered(options_.path, 1));
    else
      std::filesystem::remove(options_.path);
    open();
  } catch (const std::exception& error) {
    log::error("audit: the log is not rotated: {}", error.what());
  }
}

async::awaitable<std::vector<std::string>> AuditLog::read(AuditQuery query) {
  auto job = [this, query] {
    std::vector<std::string> out;
    // From the youngest file back, until there is enough.
    for (std::int64_t number = 0; number <= options_.keep && out.size() < query.limit; ++number) {
      auto lines = matching_lines(number == 0 ? options_.path : numbered(options_.path, number), query);
      out.insert(out.begin(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
    }
    if (out.size() > query.limit) out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(query.limit));
    return out;
  };
  co_return co_await async::on_pool(pool_, job);
}

std::vector<std::string> AuditLog::recent(std::uint64_t from) const {
  const std::uint64_t first = written_ - recent_.size();
  const auto skip =
      from > first ? static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(from - first, recent_.size())) : 0;
  return {recent_.begin() + skip, recent_.end()};
}

async::awaitable<void> AuditLog::stop() {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await tasks_.wait();
}

}  // namespace underway::server
