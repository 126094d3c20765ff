// With the real restic into a bucket of a real server: OpenStack Swift, whose proxy speaks S3 (middleware s3api).
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/process/process.hpp"
#include "overlay/backup/backup.hpp"
#include "trees.hpp"

namespace underway::overlay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::uint16_t kProxyPort = 6400;
constexpr const char* kSecret = "tops3cret-key";

/// %D: the directory of it all. One replica, on one device, which is a directory.
constexpr const char* kSwift = "[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n";
constexpr const char* kStorage = R"([DEFAULT]
devices = %D/devices
mount_check = false
bind_ip = 127.0.0.1
bind_port = %P
workers = 0
user = root
swift_dir = %D
fallocate_reserve = 0
[pipeline:main]
pipeline = %K-server
[app:%K-server]
use = egg:swift#%K
)";
/// TLS, as everywhere: without it clients sign each chunk of what they send, which s3api does not know.
constexpr const char* kProxy = R"([DEFAULT]
bind_ip = 127.0.0.1
bind_port = 6400
cert_file = %D/certificate
key_file = %D/key
workers = 0
user = root
swift_dir = %D
[pipeline:main]
pipeline = catch_errors cache s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_site_backup = %S .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
)";

std::string with(std::string text, const std::string& what, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += value.size())
    text.replace(at, what.size(), value);
  return text;
}

bool listens(std::uint16_t port) {
  const os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// The command lines of all processes, again and again, for as long as it lives.
class Eavesdropper {
 public:
  Eavesdropper() : thread_([this](const std::stop_token& enough) { listen(enough); }) {}
  /// Those that name restic.
  std::set<std::string> heard() {
    thread_.request_stop();
    thread_.join();
    return heard_;
  }

 private:
  void listen(const std::stop_token& enough) {
    while (!enough.stop_requested()) {
      for (const auto& entry : os::list_directory("/proc")) {
        if (entry.name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto line = os::find_file("/proc/" + entry.name + "/cmdline").value_or("");
        if (line.starts_with("restic")) heard_.insert(line);
      }
      std::this_thread::sleep_for(milliseconds{5});
    }
  }
  std::set<std::string> heard_;
  std::jthread thread_;
};

class S3Backups : public OverlayRoot {
 protected:
  void SetUp() override {
    OverlayRoot::SetUp();
    if (IsSkipped()) return;
    for (const auto* program : {"restic", "swift-proxy-server", "swift-object-server", "swift-ring-builder"}) {
      if (!os::exists(std::string("/usr/bin/") + program)) GTEST_SKIP() << "needs " << program;
    }
    outside_ = os::Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << "a loopback of its own";
    run({"ip", "link", "set", "lo", "up"});
    start_swift();
    os::write_file(places_ / "password", "correct horse", 0600);
    repository_ = {.url = fmt::format("s3:https://127.0.0.1:{}/capsules", kProxyPort),
                   .password_file = places_ / "password",
                   .environment = environment(kSecret)};
  }
  void TearDown() override {
    servers_.clear();
    if (outside_) EXPECT_EQ(::setns(outside_.get(), CLONE_NEWNET), 0);
  }

  /// As an administrator writes it.
  std::map<std::string, std::string> environment(const std::string& secret) const {
    os::write_file(places_ / "environment",
                   fmt::format("AWS_ACCESS_KEY_ID=site:backup\nAWS_SECRET_ACCESS_KEY={}\nSSL_CERT_FILE={}\n", secret,
                               at("certificate")),
                   0600);
    return read_environment(places_ / "environment");
  }
  std::string at(const std::string& name) const { return places_ / "swift" + "/" + name; }

  void run(std::vector<std::string> argv) const {
    const auto output = os::run_program({.argv = argv, .env = {kPath}, .cwd = places_ / "."}, seconds{20});
    ASSERT_TRUE(output.status.success()) << join(argv, " ") << ": " << output.err;
  }

  void start_swift() {
    os::make_directories(at("devices/d1"));
    os::write_file(at("swift.conf"), kSwift);
    os::write_file(at("proxy.conf"), with(with(kProxy, "%D", places_ / "swift"), "%S", kSecret));
    run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
         "/CN=s3", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-keyout", at("key"), "-out",
         at("certificate")});
    int port = 6300;
    for (const std::string kind : {"object", "container", "account"}) {
      const auto ring = at(kind + ".builder");
      run({"swift-ring-builder", ring, "create", "2", "1", "0"});
      run({"swift-ring-builder", ring, "add", fmt::format("r1z1-127.0.0.1:{}/d1", port), "1"});
      run({"swift-ring-builder", ring, "rebalance"});
      os::write_file(at(kind + ".conf"),
                     with(with(with(kStorage, "%D", places_ / "swift"), "%K", kind), "%P", std::to_string(port)));
      start({"swift-" + kind + "-server", at(kind + ".conf")});
      ++port;
    }
    start({"swift-proxy-server", at("proxy.conf")});
    const auto deadline = std::chrono::steady_clock::now() + seconds{30};
    while (!(listens(kProxyPort) && listens(6300) && listens(6301) && listens(6302))) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "Swift does not listen";
      std::this_thread::sleep_for(milliseconds{20});
    }
  }
  void start(std::vector<std::string> argv) {
    servers_.push_back(os::spawn({.argv = std::move(argv), .env = {kPath}, .parent_death_signal = SIGKILL}));
  }

  Places places_;
  os::Fd outside_;
  std::vector<os::Child> servers_;
  Repository repository_;
};

TEST_F(S3Backups, ComeBackAsTheyWereAndAWrongKeyIsRefused) {
  EXPECT_THROW(list_backups(repository_, "default/c"), Error) << "there is none yet";
  Gardener(places_ / "upper", 23).grow(30);
  Eavesdropper eavesdropper;
  make_repository(repository_);
  const Snapshot snapshot{.id = "one", .at = unix_nanos(TimePoint{seconds{1'764'072'000}}), .image = "sha256:1"};
  const auto made = back_up(repository_, "default/c", places_ / "upper", snapshot).backup;
  const auto list = list_backups(repository_, "default/c");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].digest, made.digest);
  fetch_backup(repository_, list[0], places_ / "back");
  EXPECT_EQ(words_of(places_ / "back"), words_of(places_ / "upper"));
  check_repository(repository_, 100);
  const auto lines = eavesdropper.heard();
  EXPECT_FALSE(lines.empty());
  for (const auto& line : lines) {
    EXPECT_EQ(line.find(kSecret), std::string::npos) << line;
    EXPECT_EQ(line.find("correct horse"), std::string::npos) << line;
  }

  // Refused, and told as that: not as if there were no backups.
  for (const bool making : {false, true}) {
    auto wrong = repository_;
    wrong.environment = environment("another-secret");
    try {
      if (making) make_repository(wrong);
      if (!making) list_backups(wrong, "default/c");
      FAIL() << "it was let in";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::denied) << e.text();
      EXPECT_NE(e.text().find("signature"), std::string::npos) << e.text();
      EXPECT_NE(e.text().find("AWS_SECRET_ACCESS_KEY"), std::string::npos) << e.text();
      EXPECT_EQ(e.text().find("another-secret"), std::string::npos) << e.text();
    }
  }
  auto stranger = repository_;
  stranger.environment.erase("SSL_CERT_FILE");
  try {
    list_backups(stranger, "default/c");
    FAIL() << "it trusted a certificate of nobody";
  } catch (const Error& e) {
    EXPECT_NE(e.text().find("SSL_CERT_FILE"), std::string::npos) << e.text();
  }
}

}  // namespace
}  // namespace underway::overlay
