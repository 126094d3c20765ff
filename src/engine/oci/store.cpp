#include "oci/store.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "oci/registry/credentials.hpp"
#include "os/process/process.hpp"

namespace underway::oci {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kLineLimit = 1U << 20;

/// Installed programs lie side by side.
std::string pull_program() {
  char self[PATH_MAX];
  const auto size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size > 0) {
    const std::string_view path(self, static_cast<std::size_t>(size));
    const std::string beside = fmt::format("{}/underway-pull", path.substr(0, path.rfind('/')));
    if (os::exists(beside)) return beside;
  }
  constexpr const char* kInstalled = "/usr/libexec/underway/underway-pull";
  return os::exists(kInstalled) ? kInstalled : "underway-pull";
}

/// What libcurl and OpenSSL look at, and nothing else of ours.
std::vector<std::string> program_environment() {
  std::vector<std::string> out;
  for (const char* name : {"PATH", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
                           "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"})
    if (const char* value = std::getenv(name)) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

Error took_too_long(const Reference& reference, Duration timeout) {
  return Error(Code::timeout, fmt::format("cannot pull '{}'", reference.text()))
      .because(fmt::format("it took longer than {}", human_duration(timeout)))
      .advise("try again: it goes on where it was; or raise image_pull_timeout");
}

/// Milliseconds until then, for poll(2).
int left_until(Steady::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

Steady::time_point deadline_in(Duration timeout) {
  constexpr Duration kLongest = std::chrono::hours(24 * 365);
  return Steady::now() + std::min(timeout, kLongest);
}

}  // namespace

/// One pull at a time for a reference in this process; underway-pull sees to those of other processes.
struct Store::Turns {
  std::mutex mutex;
  std::condition_variable freed;
  std::set<std::string> taken;

  class Turn {
   public:
    Turn(Turns& turns, std::string what) : turns_(turns), what_(std::move(what)) {}
    ~Turn() {
      const std::lock_guard held(turns_.mutex);
      turns_.taken.erase(what_);
      turns_.freed.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns& turns_;
    std::string what_;
  };
  /// False when the deadline passed first.
  bool wait(const std::string& what, Steady::time_point deadline) {
    std::unique_lock held(mutex);
    const bool free = freed.wait_until(held, deadline, [&] { return !taken.contains(what); });
    if (free) taken.insert(what);
    return free;
  }
};

Store::Store(std::string directory, std::string program)
    : records_(std::move(directory)),
      program_(program.empty() ? pull_program() : std::move(program)),
      turns_(std::make_unique<Turns>()) {}

Store::~Store() = default;

Image Store::make_image(const std::string& reference, const LeaseRecord& record, Lease lease) const {
  const auto config = records_.find_document(record.config);
  if (!config)
    throw Error(Code::not_found, fmt::format("the image '{}' has lost its configuration", reference))
        .advise("pull it again");
  Image out{.reference = reference,
            .digest = record.digest,
            .config = parse_config(*config),
            .layers = {},
            .lease = std::move(lease)};
  for (const auto& name : record.layers) out.layers.push_back(records_.layer(name));
  return out;
}

std::optional<Image> Store::find_here(const Reference& reference, const std::string& lease_id,
                                      const std::string& lease_name) {
  const os::Fd held = records_.share();
  const auto image = records_.find_image(reference.text());
  if (!image || !records_.find_document(image->config)) return {};
  const LeaseRecord record{lease_name, image->reference, image->digest, image->config, image->layers};
  Lease lease(records_, lease_id, lease_name);
  records_.write_lease(lease_id, record);
  records_.touch_image(image->reference);
  return make_image(image->reference, record, std::move(lease));
}

Image Store::pull(const Reference& reference, const PullOptions& options) {
  const auto deadline = deadline_in(options.timeout);
  if (!turns_->wait(reference.text(), deadline)) throw took_too_long(reference, options.timeout);
  const Turns::Turn turn(*turns_, reference.text());
  const std::string id = Lease::id_of(options.lease);
  if (!options.force && !reference.local())
    if (auto image = find_here(reference, id, options.lease)) return *std::move(image);
  Lease lease;
  {
    const os::Fd held = records_.share();
    lease = Lease(records_, id, options.lease);
    records_.write_lease(id, {.name = options.lease, .reference = reference.text()});
  }
  run_program(reference, options, id, deadline);
  const auto record = records_.find_lease(id);
  if (!record || record->digest.empty())
    throw Error(Code::internal, fmt::format("cannot pull '{}'", reference.text()))
        .because("underway-pull succeeded and did not say what it pulled");
  return make_image(reference.text(), *record, std::move(lease));
}

void Store::run_program(const Reference& reference, const PullOptions& options, const std::string& lease_id,
                        Steady::time_point deadline) const {
  PullRequest request{.store = records_.directory(),
                      .reference = reference.text(),
                      .lease = lease_id,
                      .credentials = options.credentials.value_or(Credentials{}),
                      .tls_verify = options.tls_verify,
                      .ca_file = options.ca_file,
                      .plain_http = options.plain_http,
                      .at_once = options.at_once,
                      .limits = options.limits,
                      .patience = options.patience};
  if (request.credentials.empty() && !options.auth_file.empty() && !reference.local())
    request.credentials = find_credentials(options.auth_file, reference).value_or(Credentials{});
  const os::Fd input = os::sealed_memory("pull", json::encode(request, json::Encoding::compact));
  ::lseek(input.get(), 0, SEEK_SET);
  os::Pipe out = os::open_pipe();
  os::SpawnSpec spec;
  spec.argv = {program_};
  spec.env = program_environment();
  spec.in = input.get();
  spec.out = out.write.get();
  // The next one goes on.
  spec.parent_death_signal = SIGKILL;
  spec.description = "underway-pull";
  os::Child child = os::spawn(spec);
  out.write.reset();
  os::set_nonblocking(out.read, true);
  std::string lines;
  std::optional<PullMessage> last;
  while (true) {
    if (!os::wait_for(out.read.get(), POLLIN, left_until(deadline))) {
      child.kill();
      throw took_too_long(reference, options.timeout);
    }
    char piece[16384];
    const ssize_t got = ::read(out.read.get(), piece, sizeof piece);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) break;
    lines.append(piece, static_cast<std::size_t>(got));
    if (lines.size() > kLineLimit) {
      child.kill();
      break;
    }
    for (std::size_t end = 0; (end = lines.find('\n')) != std::string::npos; lines.erase(0, end + 1)) {
      last = json::decode_text<PullMessage>(std::string_view(lines).substr(0, end));
      if (last->progress && options.progress) options.progress(*last->progress);
    }
  }
  const os::ExitStatus status = child.wait();
  if (last && last->failure) throw to_error(*last->failure);
  if (!status.success() || !last || last->digest.empty())
    throw Error(Code::internal, fmt::format("cannot pull '{}'", reference.text()))
        .because(fmt::format("underway-pull ended with {}", os::to_string(status)));
}

Image Store::find_leased(const std::string& lease) {
  const std::string id = Lease::id_of(lease);
  const os::Fd held = records_.share();
  const auto record = lease.empty() ? std::nullopt : records_.find_lease(id);
  if (!record || record->digest.empty())
    throw Error(Code::not_found, fmt::format("nobody has a lease '{}' of an image", lease));
  // Released again only if what it is about can be told.
  Lease again(records_, id, lease);
  try {
    return make_image(record->reference, *record, std::move(again));
  } catch (...) {
    again.keep();
    throw;
  }
}

void Store::release(const std::string& lease) {
  if (lease.empty()) return;
  const os::Fd held = records_.share();
  Lease(records_, Lease::id_of(lease), lease).release();
}

std::vector<std::string> Store::leases() const {
  std::vector<std::string> out;
  const os::Fd held = records_.share();
  for (const auto& [id, record] : records_.leases())
    if (!record.name.empty()) out.push_back(record.name);
  return out;
}

std::vector<StoredImage> Store::list() const {
  const os::Fd held = records_.share();
  const auto leases = records_.leases();
  std::vector<StoredImage> out;
  for (const auto& image : records_.images()) {
    if (image.record.digest.empty()) continue;
    StoredImage stored{.reference = image.record.reference, .digest = image.record.digest, .used = image.used};
    for (const auto& name : image.record.layers)
      if (const auto layer = records_.find_layer(name)) stored.bytes += layer->bytes;
    for (const auto& [id, lease] : leases)
      if (lease.digest == stored.digest) stored.leases.push_back(lease.name);
    out.push_back(std::move(stored));
  }
  std::ranges::sort(
      out, [](const auto& a, const auto& b) { return std::tie(b.used, a.reference) < std::tie(a.used, b.reference); });
  return out;
}

void Store::remove(const Reference& reference) {
  const os::Fd held = records_.alone();
  const std::string text = reference.text();
  const auto images = records_.images();
  const auto found = std::ranges::find_if(images, [&](const auto& each) { return each.record.reference == text; });
  if (found == images.end()) throw Error(Code::not_found, fmt::format("there is no image '{}' here", text));
  for (const auto& [id, lease] : records_.leases())
    if (lease.digest == found->record.digest && lease.reference == text)
      throw Error(Code::conflict, fmt::format("the image '{}' is in use", text))
          .because(lease.name.empty() ? "somebody has just pulled it" : fmt::format("'{}' has a lease", lease.name));
  ::unlink(found->path.c_str());
  Collected ignored;
  sweep(ignored, TimePoint::max());
}

Collected Store::collect(const CollectPolicy& policy, TimePoint now) {
  records_.make_durable();
  const os::Fd held = records_.alone();
  Collected out;
  std::set<std::string> leased;
  for (const auto& [id, lease] : records_.leases()) leased.insert(lease.digest);
  auto images = records_.images();
  std::ranges::sort(images, {}, &Records::KeptImage::used);
  // By layers, for what several images share goes with the last of them.
  std::map<std::string, std::pair<int, std::int64_t>> layers;
  std::int64_t bytes = 0;
  for (const auto& image : images)
    for (const auto& name : image.record.layers)
      if (auto& [users, size] = layers[name]; users++ == 0) {
        size = records_.find_layer(name).value_or(LayerRecord{}).bytes;
        bytes += size;
      }
  for (const auto& image : images) {
    const bool damaged = image.record.digest.empty();
    const bool old = policy.unused_for && image.used < now - *policy.unused_for;
    const bool too_much = policy.bytes && bytes > *policy.bytes;
    if (!damaged && (leased.contains(image.record.digest) || (!old && !too_much))) continue;
    ::unlink(image.path.c_str());
    if (!damaged) out.images.push_back(image.record.reference);
    for (const auto& name : image.record.layers)
      if (auto& [users, size] = layers[name]; --users == 0) bytes -= size;
  }
  constexpr Duration kPartsStay = std::chrono::hours(24);
  sweep(out, now - kPartsStay);
  return out;
}

void Store::sweep(Collected& out, TimePoint parts_before) const {
  std::set<std::string> layers, blobs;
  // A pull that has not said yet what it needs may be about to find things here.
  bool pulling = false;
  const auto need = [&](const std::string& digest, const std::string& config, const std::vector<std::string>& names) {
    blobs.insert({digest, config});
    layers.insert(names.begin(), names.end());
  };
  for (const auto& image : records_.images()) need(image.record.digest, image.record.config, image.record.layers);
  for (const auto& [id, lease] : records_.leases()) {
    need(lease.digest, lease.config, lease.layers);
    pulling |= lease.digest.empty();
  }
  const std::string& directory = records_.directory();
  const auto turn_of = [&](const std::string& name) {
    return lock_file(directory + "/locks/" + name, LOCK_EX | LOCK_NB);
  };
  for (const auto& entry : os::list_directory(directory + "/layers")) {
    const bool record = entry.name.ends_with(".json");
    const std::string name = record ? entry.name.substr(0, entry.name.size() - 5) : entry.name;
    if (layers.contains(name)) continue;
    const os::Fd turn = turn_of(name);
    if (!turn) continue;  // somebody is at work on it
    if (const auto layer = records_.find_layer(name)) {
      ++out.layers;
      out.bytes += layer->bytes;
    }
    ::unlink((records_.layer(name) + ".json").c_str());
    records_.throw_away(records_.layer(name));
  }
  for (const auto& entry : os::list_directory(directory + "/unpacking"))
    if (const os::Fd turn = turn_of(entry.name)) records_.throw_away(records_.unpacking(entry.name));
  for (const char* kind : {"incoming", "blobs/sha256"})
    for (const auto& entry : os::list_directory(directory + "/" + kind)) {
      const std::string path = fmt::format("{}/{}/{}", directory, kind, entry.name);
      struct stat st{};
      // What has just come may be wanted by a pull that broke off and goes on.
      if (pulling || blobs.contains("sha256:" + entry.name) || ::stat(path.c_str(), &st) != 0 ||
          from_unix_nanos(st.st_mtim.tv_sec * 1'000'000'000) > parts_before)
        continue;
      if (const os::Fd turn = turn_of(entry.name + ".packed")) ::unlink(path.c_str());
    }
  for (const auto& entry : os::list_directory(directory + "/locks"))
    if (const os::Fd turn = turn_of(entry.name)) ::unlink((directory + "/locks/" + entry.name).c_str());
  records_.empty_trash();
}

}  // namespace underway::oci
