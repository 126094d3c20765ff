#include "os/ledger.hpp"

#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/json/json_member.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/mount.hpp"
#include "os/process/cgroup.hpp"
#include "os/process/namespaces.hpp"

namespace underway::os {
namespace {

using underway::json::text_at;

constexpr std::size_t kLargestLedger = 256U << 20;
constexpr std::size_t kSettledBeforeCompaction = 4096;

/// FNV-1a: enough to tell a torn line from a whole one. Source: RFC draft-eastlake-fnv, section 4.
std::uint32_t checksum(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string line_of(const boost::json::object& record) {
  const std::string text = boost::json::serialize(record);
  return fmt::format("{:08x} {}\n", checksum(text), text);
}

std::optional<boost::json::object> parse_line(std::string_view line) {
  if (line.size() < 11 || line[8] != ' ') return std::nullopt;
  if (parse_number<std::uint32_t>(line.substr(0, 8), 16) != checksum(line.substr(9))) return std::nullopt;
  boost::system::error_code failed;
  auto value = boost::json::parse(line.substr(9), failed);
  if (failed || !value.is_object()) return std::nullopt;
  return std::move(value.as_object());
}

std::optional<Ledger::EntryId> id_of(const boost::json::object& record) {
  const auto* value = record.if_contains("id");
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code failed;
  const auto id = value->to_number<Ledger::EntryId>(failed);
  return failed ? std::nullopt : std::optional(id);
}

const std::string& boot_id() {
  static const std::string kBoot{trim(read_file("/proc/sys/kernel/random/boot_id"))};
  return kBoot;
}

bool outlives_boot(const LedgerItem& item) { return item.kind == "directory" || item.kind == "file"; }

std::string record_line(Ledger::EntryId id, const LedgerItem& item) {
  return line_of({{"op", "record"},
                  {"id", id},
                  {"boot", boot_id()},
                  {"kind", item.kind},
                  {"object", item.object},
                  {"context", item.context},
                  {"owner", item.owner}});
}

void undo_process(const LedgerItem& item) {
  const auto identity = parse_process_object(item.object);
  if (!identity) throw Error(Code::invalid, fmt::format("'{}' names no process", item.object));
  const auto pidfd = Pidfd::find(*identity);
  if (!pidfd || !pidfd->signal(SIGKILL)) return;
  if (!pidfd->wait_gone(std::chrono::seconds{5})) {
    throw Error(Code::timeout, fmt::format("process {} does not die", identity->pid));
  }
}

}  // namespace

std::string to_object(const ProcessIdentity& identity) {
  return fmt::format("{}:{}", identity.pid, identity.start_time);
}

std::optional<ProcessIdentity> parse_process_object(std::string_view object) {
  const auto pid = parse_leading_number<decltype(ProcessIdentity::pid)>(object);
  if (!pid || pid->value <= 0 || !pid->rest.starts_with(':')) return std::nullopt;
  const auto start = parse_number<decltype(ProcessIdentity::start_time)>(pid->rest.substr(1));
  if (!start) return std::nullopt;
  return ProcessIdentity{pid->value, *start};
}

void Ledger::Entry::settle() { ledger_->settle(id_); }

namespace {

/// A process that was killed in the middle of a fork leaves its lock to the child for the moment until that execs.
FileLock take_lock(const std::string& path) {
  constexpr const char* kHolder = "underway, keeping its ledger";
  for (int attempt = 0; attempt < 30; ++attempt) {
    if (auto lock = FileLock::try_acquire(path, kHolder)) return std::move(*lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return FileLock::acquire(path, kHolder);
}

}  // namespace

Ledger::Ledger(std::string path) : lock_(take_lock(path + ".lock")), path_(std::move(path)) {
  undo_["mount"] = [](const LedgerItem& item) { unmount_all(item.object); };
  undo_["netns"] = [](const LedgerItem& item) { Namespace::unpin(item.object); };
  undo_["cgroup"] = [](const LedgerItem& item) {
    if (auto group = Cgroup::find(CgroupSystem::probe(), item.object)) group->remove();
  };
  undo_["process"] = undo_process;
  undo_["directory"] = [](const LedgerItem& item) { remove_tree(item.object); };
  undo_["file"] = [](const LedgerItem& item) {
    if (::unlink(item.object.c_str()) != 0 && errno != ENOENT) {
      throw errno_error(errno, fmt::format("cannot remove '{}'", item.object));
    }
  };
  load();
}

void Ledger::load() {
  const std::string text = find_file(path_, kLargestLedger).value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const auto newline = rest.find('\n');
    const auto line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    const auto record = parse_line(line);
    const auto number = record ? id_of(*record) : std::nullopt;
    if (!record || !number) {
      ++skipped_;
      continue;
    }
    next_ = std::max(next_, *number + 1);
    if (text_at(*record, "op") == "settle") {
      open_.erase(*number);
      continue;
    }
    LedgerItem item{text_at(*record, "kind"), text_at(*record, "object"), text_at(*record, "context"),
                    text_at(*record, "owner")};
    if (text_at(*record, "boot") == boot_id() || outlives_boot(item)) open_[*number] = std::move(item);
  }
  compact();
}

void Ledger::compact() {
  std::string lines;
  for (const auto& [id, item] : open_) lines += record_line(id, item);
  write_file(path_, lines, 0600);
  file_ = open_file(path_, O_WRONLY | O_APPEND);
  settled_lines_ = 0;
}

void Ledger::append(const std::string& lines, bool flush) {
  write_all(file_, lines, fmt::format("'{}'", path_));
  if (flush && ::fdatasync(file_.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}'", path_));
}

Ledger::Entry Ledger::record(const LedgerItem& item) { return std::move(record(std::vector{item}).front()); }

std::vector<Ledger::Entry> Ledger::record(const std::vector<LedgerItem>& items) {
  const std::lock_guard lock(mutex_);
  std::string lines;
  bool flush = false;
  EntryId id = next_;
  for (const auto& item : items) {
    lines += record_line(id++, item);
    flush |= outlives_boot(item);
  }
  append(lines, flush);
  std::vector<Entry> entries;
  for (const auto& item : items) {
    entries.push_back(Entry(this, next_));
    open_.emplace(next_++, item);
  }
  return entries;
}

void Ledger::settle(EntryId id) {
  const std::lock_guard lock(mutex_);
  if (open_.erase(id) == 0) return;
  append(line_of({{"op", "settle"}, {"id", id}}), false);
  ++settled_lines_;
  if (settled_lines_ > kSettledBeforeCompaction && settled_lines_ > 2 * open_.size()) compact();
}

std::vector<Ledger::Open> Ledger::unsettled() const {
  const std::lock_guard lock(mutex_);
  std::vector<Open> list;
  list.reserve(open_.size());
  for (const auto& [id, item] : open_) list.push_back({id, item});
  return list;
}

std::vector<Ledger::Open> Ledger::unsettled(const std::string& owner) const {
  auto list = unsettled();
  std::erase_if(list, [&](const Open& open) { return open.item.owner != owner; });
  return list;
}

void Ledger::on_undo(const std::string& kind, Undo undo) {
  const std::lock_guard lock(mutex_);
  undo_[kind] = std::move(undo);
}

std::vector<Error> Ledger::undo(const std::function<bool(const LedgerItem&)>& wanted) {
  std::vector<Error> failures;
  auto list = unsettled();
  for (auto open = list.rbegin(); open != list.rend(); ++open) {
    if (!wanted(open->item)) continue;
    Undo undo;
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = undo_.find(open->item.kind); known != undo_.end()) undo = known->second;
    }
    try {
      if (!undo) throw Error(Code::unsupported, fmt::format("nobody here can undo a '{}'", open->item.kind));
      undo(open->item);
      settle(open->id);
    } catch (Error& e) {
      e.while_doing(fmt::format("undoing {} '{}' of '{}'", open->item.kind, open->item.object, open->item.owner));
      failures.push_back(e);
    }
  }
  return failures;
}

std::vector<Error> Ledger::undo_all() {
  return undo([](const LedgerItem&) { return true; });
}

}  // namespace underway::os
