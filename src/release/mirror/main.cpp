// underway-mirror: synchronises one mirror (program.hpp).
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdio>

#include "base/json/json.hpp"
#include "mirror/deb.hpp"
#include "mirror/program.hpp"
#include "os/fd.hpp"

namespace {

using namespace underway;

constexpr std::size_t kLargestRequest = std::size_t{64} << 20;
constexpr auto kBetweenLines = std::chrono::milliseconds(500);

void say(const mirror::SyncLine& line) {
  std::puts(json::encode(line, json::Encoding::compact).c_str());
  std::fflush(stdout);
}

/// How far it is, twice a second.
class Reporter {
 public:
  void operator()(const mirror::Stage& stage) {
    const auto now = std::chrono::steady_clock::now();
    if (stage.what == last_ && now - told_ < kBetweenLines) return;
    last_ = stage.what;
    told_ = now;
    say({.progress = mirror::SyncProgress{
             stage.what, static_cast<std::int64_t>(stage.bytes), static_cast<std::int64_t>(stage.of_bytes),
             static_cast<std::int64_t>(stage.files), static_cast<std::int64_t>(stage.of_files)}});
  }

 private:
  std::string last_;
  std::chrono::steady_clock::time_point told_;
};

void synchronise(const mirror::SyncRequest& request) {
  if (request.mirror.format != releasefile::Format::deb)
    throw Error(Code::unsupported, fmt::format("mirror '{}' is of rpm packages", request.mirror.name));
  const auto keys = openpgp::Keyring::of_texts(request.homes, request.keys);
  transfer::Transfer upstream({.url = request.mirror.url, .proxy = request.mirror.proxy});
  const pool::Pool pool(request.pool);
  Reporter reporter;
  auto done = mirror::synchronise_deb(request.mirror, request.before, {keys, upstream, pool},
                                      from_unix_nanos(request.now), [&](const auto& stage) { reporter(stage); });
  say({.done = mirror::SyncDone{std::move(done.view), done.changed, static_cast<std::int64_t>(done.files),
                                static_cast<std::int64_t>(done.bytes), std::move(done.left)}});
}

}  // namespace

int main() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};  // a proxy's address may hold a password
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(077);
  mirror::SyncFailure failure;
  try {
    const auto text = os::read_all(os::Fd(0), kLargestRequest, "the request");
    synchronise(json::decode_text<mirror::SyncRequest>(text, "request"));
    return 0;
  } catch (const Error& error) {
    failure = {std::string(to_string(error.code())), error.message(), error.advice(), error.reasons()};
  } catch (const std::exception& error) {
    failure = {"internal", error.what(), "", {}};
  }
  say({.failed = failure});
  return 1;
}
