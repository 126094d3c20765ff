#include "rehearsal/detail/clone.hpp"

#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "keeper/client.hpp"
#include "net/netlink.hpp"
#include "node/task/interpolate.hpp"
#include "os/mount.hpp"
#include "overlay/overlay.hpp"
#include "overlay/transfer/transfer.hpp"
#include "rehearsal/detail/script.hpp"
#include "run/config/config.hpp"

namespace underway::rehearsal::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kLargestScript = 1U << 20;
/// Of copying a directory that is written to.
constexpr int kMostRounds = 3;
constexpr auto kCloneLookEvery = milliseconds{100};
constexpr auto kSettled = std::chrono::seconds{1};
/// Below what the clone has of its secrets, in memory; so are the scripts, which may hold some.
constexpr std::string_view kScripts = "/.rehearsal";

const model::Task& task_of(const RehearsalRequest& request) {
  const auto* group = request.job.find_group(request.group);
  if (group != nullptr) {
    for (const auto& task : group->tasks) {
      if (task.driver == "capsule") return task;
    }
  }
  throw Error(Code::invalid, fmt::format("'{}' is no capsule", request.name))
      .because(
          fmt::format("group '{}' of job '{}' has no task with driver \"capsule\"", request.group, request.job.id));
}

void require_scripts(const std::vector<model::RehearsalScript>& scripts) {
  Error wrong(Code::invalid, "the scripts of the rehearsal cannot be run");
  for (const auto& script : scripts) {
    if (script.name.empty()) wrong.because("one has no name");
    if (script.content.size() > kLargestScript) wrong.because(fmt::format("'{}' is larger than 1 MiB", script.name));
    if (!script.content.starts_with("#!"))
      wrong.because(fmt::format("'{}' does not say what runs it: its first line must begin with #!", script.name));
  }
  if (!wrong.reasons().empty()) throw std::move(wrong);
}

/// A name for a file: what is none of it becomes '_'.
std::string file_name(std::size_t number, std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return fmt::format("{}-{}", number, name.substr(0, 100));
}

/// The capsule goes on writing there: what vanishes meanwhile is left out, what changes is looked at again.
void copy_tree(const std::string& from, const std::string& to) {
  struct stat of = {};
  if (::stat(from.c_str(), &of) != 0) return;
  os::make_directories(to, 0700);
  const auto copy = to + "/.copy";
  for (int round = 0; round < kMostRounds && overlay::copy_here(from, copy).left_files > 0; ++round) {
  }
  for (const auto& entry : os::list_directory(copy + "/tree")) {
    if (::rename((copy + "/tree/" + entry.name).c_str(), (to + "/" + entry.name).c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot put '{}' into '{}'", entry.name, to));
  }
  os::remove_tree(copy);
  if (::chown(to.c_str(), of.st_uid, of.st_gid) != 0 || ::chmod(to.c_str(), of.st_mode & 07777) != 0)
    throw errno_error(errno, fmt::format("cannot give '{}' the owner and mode of what it is a copy of", to));
}

/// As init tells it: the service that keeps the others waiting.
std::string failing_service(const run::Status& status) {
  const run::ServiceStatus* found = nullptr;
  const auto weight = [](const run::ServiceStatus& service) {
    if (service.state == "ready" || service.state == "done") return std::int64_t{0};
    if (service.state == "failed") return std::int64_t{1} << 32;
    return service.state == "waiting" ? std::int64_t{1} : 2 + service.restarts;
  };
  for (const auto& service : status.services) {
    if (weight(service) > 0 && (found == nullptr || weight(service) > weight(*found))) found = &service;
  }
  return found == nullptr ? "" : found->name;
}

os::FileLock take_lock(const std::string& path, const std::string& name) {
  if (auto lock = os::FileLock::try_acquire(path, fmt::format("the rehearsal of {}", name))) return *std::move(lock);
  const auto who = os::FileLock::holder_of(path);
  throw Error(Code::conflict, std::string(kUnderWay))
      .because(who.empty() ? std::string("it ends just now") : "by " + who)
      .advise("wait for it to end");
}

std::int64_t restarts_in(const run::Status& status) {
  std::int64_t count = 0;
  for (const auto& service : status.services) count += service.restarts;
  return count;
}

}  // namespace

Clone::Clone(const Options& options, const RehearsalRequest& request)
    : options_(options), request_(request), task_(task_of(request)), place_(options, request.ns, request.name) {
  require_scripts(request.scripts);
  os::make_directories(place_.directory.substr(0, place_.directory.rfind('/')), 0700);
  lock_.emplace(take_lock(place_.lock(), request.name));
  clear_away(options_, place_);
  original_ = run::find_run(options.driver.capsules, request.ns, request.name);
  image_ = starts_ = request.image;
}

/// What fails of it is tried again by clear_away().
void Clone::end_quietly() {
  if (!handle_) return;
  try {
    handle_->stop(SIGKILL, {});
    handle_->wait(std::chrono::seconds{30});
    // Where its links are.
    wires_->run([&] { handle_->destroy(); });
  } catch (const Error& e) {
    log::warn("rehearsal: the clone of {} does not end as it should: {}", request_.name, e.one_line());
  }
  handle_.reset();
}

Clone::~Clone() {
  end_quietly();
  try {
    clear_away(options_, place_);
  } catch (const Error& e) {
    log::warn("rehearsal: something of the clone of {} stays until the agent starts again: {}", request_.name,
              e.one_line());
  }
}

void Clone::step(const char* what) const {
  check_cancelled();
  if (options_.on_step) options_.on_step(what);
}

void Clone::check_cancelled() const {
  if (options_.cancelled && options_.cancelled())
    throw Error(Code::unavailable, "the rehearsal was given up")
        .because("nobody waits for it any more, or the agent stops");
}

void Clone::fill(const std::function<void(const std::string& upper)>& fill) {
  step("fill");
  const auto directory = run::capsule_directory(place_.capsules(), request_.ns, request_.name) + "/overlay";
  auto overlay = overlay::open_overlay({.kind = overlay::Kind::directory, .size_bytes = 0, .paths = {}}, directory);
  const auto upper = overlay.upper();
  if (::rmdir(upper.c_str()) != 0) throw errno_error(errno, fmt::format("cannot make room for '{}'", upper));
  fill(upper);
  step("files");
  copy_files();
  write_scripts();
}

std::string Clone::task_directory() const {
  if (!original_) return "";
  // "<task>/private/run-3"
  const auto run = original_->keeper_dir.rfind("/private/");
  return run == std::string::npos ? "" : original_->keeper_dir.substr(0, run);
}

void Clone::copy_files() {
  os::make_directories(place_.secrets(), 0700);
  os::make_directories(place_.alloc() + "/logs", 0755);
  if (auto* ledger = options_.driver.driver.ledger)
    ledger->record({.kind = "mount", .object = place_.secrets(), .context = {}, .owner = place_.owner});
  os::Mount::tmpfs(place_.secrets(), "size=128m,mode=700", MS_NOSUID | MS_NODEV).release();
  const auto from = task_directory();
  if (from.empty()) return;
  copy_tree(from + "/secrets", place_.secrets());
  copy_tree(from + "/local", place_.task() + "/local");
}

void Clone::write_scripts() {
  os::make_directories(place_.secrets() + std::string(kScripts), 0700);
  for (std::size_t n = 0; n < request_.scripts.size(); ++n) {
    const auto path = fmt::format("{}/{}", kScripts, file_name(n, request_.scripts[n].name));
    os::write_file(place_.secrets() + path, request_.scripts[n].content, 0700, {}, os::Durability::cached);
    scripts_.push_back("/secrets" + path);
  }
}

std::map<std::string, std::string> Clone::environment() const {
  std::map<std::string, std::string> environment;
  if (original_ && original_->running())
    environment = os::initial_environment(
        {static_cast<pid_t>(original_->pid), static_cast<std::uint64_t>(original_->start_time)});
  environment.emplace("NOMAD_JOB_ID", request_.job.id);
  environment.emplace("NOMAD_JOB_NAME", request_.job.name);
  environment.emplace("NOMAD_GROUP_NAME", request_.group);
  environment.emplace("NOMAD_TASK_NAME", task_.name);
  environment.emplace("NOMAD_ALLOC_INDEX", "0");
  environment["NOMAD_NAMESPACE"] = request_.ns;
  return environment;
}

/// A file that the capsule's task has lies in the original's directory; copying it would serve nobody.
std::string Clone::image_reference(const std::string& given) const {
  if (!starts_.empty()) return starts_;
  for (const auto* part : {"/", "/local/"}) {
    const auto path = task_directory() + part + given;
    if (!given.starts_with('/') && os::exists(path)) return path;
  }
  return given;
}

boost::json::value Clone::config(const std::map<std::string, std::string>& environment) const {
  const auto region = environment.find("NOMAD_REGION");
  node::Interpolation known(options_.self, region != environment.end() ? region->second : "global");
  known.set_environment(environment);
  auto config = known.apply_to(task_.config);
  if (!config.is_object()) throw Error(Code::invalid, fmt::format("the task '{}' has no config", task_.name));
  auto& object = config.get_object();
  object.erase("overlay");  // a directory, whatever the capsule has
  object["name"] = request_.name;
  const auto* image = object.if_contains("image");
  if (image != nullptr && image->is_string()) object["image"] = image_reference(std::string(image->get_string()));
  return config;
}

driver::TaskSpec Clone::spec() const {
  driver::TaskSpec spec;
  spec.alloc_id = place_.owner;
  spec.task = task_.name;
  spec.node = options_.self.name;
  spec.task_dir = place_.task();
  spec.alloc_dir = place_.alloc();
  spec.keeper_dir = place_.keeper();
  spec.cgroup = place_.cgroup;
  spec.run_cgroup = place_.cgroup + ".runs";
  spec.env = environment();
  spec.config = config(spec.env);
  const auto positive = [](std::int64_t value) { return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value)); };
  spec.cpu_shares = positive(task_.resources.cpu);
  spec.memory_mb = positive(task_.resources.memory_mb);
  spec.memory_max_mb = positive(task_.resources.memory_max_mb);
  spec.pids = positive(task_.resources.pids);
  spec.log_files = 2;
  spec.log_bytes = 4U << 20;
  return spec;
}

void Clone::launch() {
  const auto spec = this->spec();
  auto options = options_.driver;
  options.capsules = place_.capsules();
  options.rehearsal = true;
  options.on_step = [this](const std::string& at) {
    if (options_.on_step) options_.on_step("start: " + at);
  };
  driver_ = run::make_capsule(std::move(options));
  // The bridges that the configuration names, where nothing else is: the clone joins them as it would the host's.
  wires_.emplace(net::Namespace::create(fmt::format("rehearsal of {}", request_.name)));
  net::Netlink wires(*wires_);
  wires.set_up("lo");
  std::set<std::string> bridges;
  for (const auto& network : run::parse_config(spec.config).networks) bridges.insert(network.bridge_name());
  for (const auto& bridge : bridges) wires.add_bridge(bridge);
  wires_->run([&] { handle_ = driver_->start(spec); });
}

std::optional<model::RehearsalFinding> Clone::stop_what_ran() {
  if (!request_.stop_first || !original_ || !os::exists(original_->image_path)) return std::nullopt;
  step("stop");
  model::RehearsalFinding finding{.name = "stop"};
  const auto since = steady_clock::now();
  starts_ = original_->image_path;
  try {
    launch();
    wait_until_ready(finding);
    if (finding.result == 0) end_by_itself(finding);
  } catch (const Error& e) {
    if (handle_) throw;  // cancelled
    finding.result = 1;
    finding.output = tail_of(e.one_line());
  }
  starts_ = request_.image;
  finding.passed = finding.result == 0;
  finding.took = steady_clock::now() - since;
  return finding;
}

/// For as long as the capsule itself would get. One that is killed then leaves what it would leave in earnest.
void Clone::end_by_itself(model::RehearsalFinding& finding) {
  handle_->stop(SIGTERM, task_.kill_timeout);
  const auto deadline = steady_clock::now() + task_.kill_timeout + kSettled;
  while (!handle_->wait(kCloneLookEvery)) {
    check_cancelled();
    if (steady_clock::now() < deadline) continue;
    finding.output = fmt::format("it did not end within {}, and was killed", human_duration(task_.kill_timeout));
    handle_->stop(SIGKILL, {});
    handle_->wait(std::chrono::seconds{30});
    break;
  }
  wires_->run([&] { handle_->destroy(); });
  handle_.reset();
  driver_.reset();
  // What it said is none of what the next one says.
  os::remove_tree(place_.alloc() + "/logs");
  os::make_directories(place_.alloc() + "/logs", 0755);
}

model::RehearsalFinding Clone::start() {
  step("start");
  model::RehearsalFinding finding{.name = "start"};
  const auto since = steady_clock::now();
  try {
    launch();
    const auto run = run::find_run(place_.capsules(), request_.ns, request_.name);
    if (run) image_ = run->image;
    if (run) digest_ = run->digest;
    step("started");
    wait_until_ready(finding);
  } catch (const Error& e) {
    if (handle_) throw;  // cancelled
    finding.result = 1;
    finding.output = tail_of(e.one_line());
  }
  finding.passed = finding.result == 0;
  finding.took = steady_clock::now() - since;
  return finding;
}

void Clone::wait_until_ready(model::RehearsalFinding& finding) {
  const auto deadline = steady_clock::now() + request_.patience;
  run::Status status;
  std::string why, service;
  std::optional<steady_clock::time_point> healthy_since;
  std::int64_t restarts = 0;
  while (why.empty()) {
    check_cancelled();
    try {
      status = run::Control::connect(place_.keeper(), kCloneLookEvery).status();
    } catch (const Error&) {
      status.phase.clear();  // it ends; what its services were then says more
    }
    // Not every service can say when it is ready: those that cannot are ready at once, until they fail.
    if (!status.healthy() || restarts_in(status) != restarts) healthy_since.reset();
    restarts = restarts_in(status);
    if (status.healthy() && !healthy_since) healthy_since = steady_clock::now();
    if (healthy_since && steady_clock::now() - *healthy_since >= kSettled) return;
    const bool ended = handle_->wait(kCloneLookEvery);
    service = failing_service(status);
    if (ended && service.empty()) service = given_up_service();
    const auto who = service.empty() ? std::string("it") : fmt::format("service {}", service);
    if (ended) {
      finding.result = std::max(1, handle_->status().exit.code);
      why = fmt::format("{} did not start, and the capsule ended ({}){}", who, os::to_string(handle_->status().exit),
                        handle_->status().oom_killed ? ": it was out of memory" : "");
    } else if (steady_clock::now() >= deadline) {
      finding.result = 124;
      why = fmt::format("{} was not ready within {}", who, human_duration(request_.patience));
    }
  }
  finding.output = fmt::format("{}\n{}", why, tail_of(log_of(service), 4000 - why.size()));
}

/// For which init ended the capsule: that may happen between two looks at its status.
std::string Clone::given_up_service() const {
  constexpr std::string_view kBefore = "init: stopping: service ", kAfter = " has failed";
  const std::string said = log_of("");
  for (const auto& line : split(said, '\n')) {
    if (line.starts_with(kBefore) && line.ends_with(kAfter))
      return std::string(line.substr(kBefore.size(), line.size() - kBefore.size() - kAfter.size()));
  }
  return {};
}

/// What a service said last, and what init says of it; of all when there is no such service.
std::string Clone::log_of(const std::string& service) const {
  std::string said;
  for (const auto* stream : {"stdout", "stderr"}) {
    const auto name = fmt::format("{}.{}", task_.name, stream);
    const auto path =
        fmt::format("{0}/logs/{1}.{2}", place_.alloc(), name, keeper::last_log_index(place_.alloc() + "/logs", name));
    for (const auto& line : split(os::find_file(path).value_or(""), '\n')) {
      if (line.empty()) continue;
      if (service.empty() || line.starts_with(service + ": ") || line.starts_with("init: " + service + ": "))
        said += std::string(line) + "\n";
    }
  }
  return said;
}

/// It may take as long as it likes, and nobody may want to know any more: then it ends with the clone.
run::StepResult Clone::run_check() {
  auto running = std::async(std::launch::async, [this] {
    return run::Control::connect(place_.keeper()).run_step(image::Moment::check, request_.patience);
  });
  try {
    while (running.wait_for(kCloneLookEvery) != std::future_status::ready) check_cancelled();
  } catch (const Error&) {
    handle_->stop(SIGKILL, {});
    running.wait();
    throw;
  }
  return running.get();
}

model::RehearsalFinding Clone::check() {
  step("check");
  model::RehearsalFinding finding{.name = "check"};
  const auto since = steady_clock::now();
  try {
    const auto result = run_check();
    finding.result = result.result;
    finding.output = tail_of(result.output);
    const auto status = run::Control::connect(place_.keeper()).status();
    if (finding.result == 0 && !status.healthy()) {
      const auto service = failing_service(status);
      finding.result = 1;
      finding.output = fmt::format("service {} has failed since\n{}", service, tail_of(log_of(service), 4000));
    }
  } catch (const Error& e) {
    check_cancelled();
    finding.result = e.code() == Code::timeout ? 124 : 1;
    finding.output = tail_of(e.one_line());
  }
  finding.passed = finding.result == 0;
  finding.took = steady_clock::now() - since;
  return finding;
}

std::vector<model::RehearsalFinding> Clone::run_scripts() {
  std::vector<model::RehearsalFinding> findings;
  for (std::size_t n = 0; n < scripts_.size(); ++n) {
    step("script");
    findings.push_back(run_inside(*handle_, request_.scripts[n].name, {scripts_[n]}, request_.patience,
                                  [this] { check_cancelled(); }));
  }
  return findings;
}

}  // namespace underway::rehearsal::detail
