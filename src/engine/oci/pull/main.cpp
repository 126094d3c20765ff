// underway-pull: pulls one image into a store. Reads a PullRequest from standard input and tells in lines of JSON on
// standard output how far it is and how it ended (pull_request.hpp).
#include <curl/curl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "oci/confine.hpp"
#include "oci/pull/pull.hpp"
#include "os/fd.hpp"

namespace {

using namespace underway;

void say(const oci::PullMessage& message) {
  static const os::Fd out(STDOUT_FILENO);
  os::write_all(out, json::encode(message, json::Encoding::compact) + "\n", "what happened");
}

}  // namespace

int main() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};  // there may be credentials in memory
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(022);
  try {
    const os::Fd input(STDIN_FILENO);
    const auto request = json::decode_text<oci::PullRequest>(os::read_all(input, 1U << 20, "the request"), "request");
    // Where the kernel has no means for it, the checks of each name have to do.
    static_cast<void>(oci::write_only_below(request.store));
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const std::string digest =
        oci::pull::pull(request, [](const oci::Progress& progress) { say({.progress = progress}); });
    say({.digest = digest});
    return 0;
  } catch (const Error& error) {
    say({.failure = oci::to_failure(error)});
  } catch (const std::exception& error) {
    say({.failure = oci::Failure{.code = "internal", .message = error.what()}});
  }
  return 1;
}
