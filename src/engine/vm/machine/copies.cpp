// Disks that go along: written to a target's over the network while the guest runs.
#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "base/json/json_member.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "vm/machine/machine.hpp"

namespace underway::vm {
namespace {

namespace json = boost::json;
using underway::json::text_at;

constexpr std::string_view kJob = "copy-";

struct CopyJob {
  std::string id, status;
  std::int64_t left = 0;  ///< bytes
};

std::vector<CopyJob> copy_jobs(Qmp& qmp) {
  std::vector<CopyJob> jobs;
  const auto all = qmp.execute("query-block-jobs");
  if (!all.is_array()) return jobs;
  for (const auto& job : all.get_array()) {
    auto id = text_at(job, "device");
    if (!id.starts_with(kJob)) continue;
    const auto* object = job.if_object();
    const auto number = [&](const char* key) {
      const auto* value = object->if_contains(key);
      return value != nullptr && value->is_int64() ? value->get_int64() : 0;
    };
    const auto* ready = object->if_contains("ready");
    const bool is_ready = ready != nullptr && ready->is_bool() && ready->get_bool();
    jobs.push_back({std::move(id), is_ready ? "ready" : text_at(job, "status"), number("len") - number("offset")});
  }
  return jobs;
}

/// Of "unix:/path" and "tcp:host:port". `flat`: with the key of which kind it is beside the rest.
json::object socket_address(const std::string& uri) {
  if (uri.starts_with("unix:")) return {{"type", "unix"}, {"path", uri.substr(5)}};
  const auto colon = uri.rfind(':');
  if (!uri.starts_with("tcp:") || colon <= 4 || !parse_number<std::uint16_t>(uri.substr(colon + 1)))
    throw Error(Code::invalid, fmt::format("'{}' is no place for a machine's disks", uri))
        .advise("write it as unix:/path or tcp:host:port");
  return {{"type", "inet"}, {"host", uri.substr(4, colon - 4)}, {"port", uri.substr(colon + 1)}};
}

}  // namespace

void Machine::copy_disks(const std::string& uri) {
  for (const auto& disk : writable_disks()) {
    const auto copy = std::string(kJob) + disk;
    qmp_.execute("blockdev-add",
                 {{"driver", "nbd"}, {"node-name", copy}, {"server", socket_address(uri)}, {"export", disk}},
                 options_.patience);
    // "top": what is below is an image that the target has as well.
    qmp_.execute("blockdev-mirror", {{"job-id", copy}, {"device", disk}, {"target", copy}, {"sync", "top"}},
                 options_.patience);
  }
  // As long as it takes, but not without progress.
  std::int64_t least = -1;
  for (Deadline deadline(options_.patience);;) {
    const auto jobs = copy_jobs(qmp_);
    if (jobs.size() != writable_disks().size())
      throw Error(Code::unavailable, fmt::format("the disks of {} cannot be copied", who()))
          .because("the target takes them no more");
    if (std::all_of(jobs.begin(), jobs.end(), [](const CopyJob& job) { return job.status == "ready"; })) return;
    std::int64_t left = 0;
    for (const auto& job : jobs) left += job.left;
    if (least < 0 || left < least) {
      least = left;
      deadline = Deadline(options_.patience);
    }
    if (deadline.passed())
      throw Error(Code::timeout, fmt::format("the disks of {} are not copied", who()))
          .because(fmt::format("{} are left, and nothing went within {}", human_bytes(static_cast<std::uint64_t>(left)),
                               human_duration(options_.patience)));
    static_cast<void>(
        qmp_.wait_event({"BLOCK_JOB_READY", "BLOCK_JOB_ERROR", "BLOCK_JOB_COMPLETED"}, std::chrono::milliseconds{50}));
  }
}

void Machine::finish_copies() {
  // The guest stands still: to cancel a copy that has caught up is to end it where it is the same.
  for (const auto& job : copy_jobs(qmp_)) qmp_.execute("block-job-cancel", {{"device", job.id}}, options_.patience);
  const Deadline deadline(options_.patience);
  while (!copy_jobs(qmp_).empty()) {
    if (deadline.passed())
      throw Error(Code::timeout, fmt::format("the disks of {} are not copied to their end", who()));
    static_cast<void>(qmp_.wait_event({"BLOCK_JOB_COMPLETED", "BLOCK_JOB_CANCELLED"}, std::chrono::milliseconds{20}));
  }
  // A copy whose target has died ends as well, and says so only here.
  for (const auto& event : qmp_.take_events()) {
    const auto error = text_at(event.data, "error");
    const bool failed = event.name == "BLOCK_JOB_ERROR" || (event.name == "BLOCK_JOB_COMPLETED" && !error.empty());
    if (failed && text_at(event.data, "device").starts_with(kJob))
      throw Error(Code::unavailable, fmt::format("the disks of {} did not arrive", who()))
          .because(error.empty() ? "the target takes them no more" : error);
  }
  forget_copies();
}

void Machine::forget_copies() {
  for (const auto& disk : run_.machine.disks) {
    if (disk.read_only) continue;
    try {
      qmp_.execute("blockdev-del", {{"node-name", std::string(kJob) + disk.name}}, options_.patience);
    } catch (const Error& e) {
      if (e.code() == Code::unavailable || e.code() == Code::timeout) throw;
      // There is none of that name.
    }
  }
}

void Machine::cancel_copies() {
  for (const auto& job : copy_jobs(qmp_))
    qmp_.execute("block-job-cancel", {{"device", job.id}, {"force", true}}, options_.patience);
  const Deadline deadline(options_.patience);
  while (!copy_jobs(qmp_).empty()) {
    if (deadline.passed()) throw Error(Code::timeout, fmt::format("{} does not stop copying its disks", who()));
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  forget_copies();
}

void Machine::serve_disks(const std::string& uri) {
  auto address = socket_address(uri);
  const auto type = text_at(address, "type");
  address.erase("type");
  qmp_.execute("nbd-server-start", {{"addr", {{"type", type}, {"data", std::move(address)}}}});
  for (const auto& disk : writable_disks())
    qmp_.execute("block-export-add",
                 {{"type", "nbd"}, {"id", "export-" + disk}, {"node-name", disk}, {"name", disk}, {"writable", true}});
}

void Machine::stop_serving_disks() {
  try {
    qmp_.execute("nbd-server-stop", {}, options_.patience);
  } catch (const Error& e) {
    if (e.code() == Code::unavailable || e.code() == Code::timeout) throw;
    // It serves none.
  }
}

}  // namespace underway::vm
