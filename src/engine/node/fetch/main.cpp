// underway-fetch: fetches one artifact. Reads a FetchRequest from standard input; says on standard output why it
// failed.
#include <curl/curl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.hpp"
#include "base/json.hpp"
#include "node/fetch/fetch.hpp"

int main() {
  using namespace underway;
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};  // headers may hold credentials
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(022);
  try {
    const os::Fd input(0);
    const std::string text = os::read_all(input, 1U << 20, "the request");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    node::fetch::fetch(json::decode_text<node::FetchRequest>(text, "request"));
    return 0;
  } catch (const Error& error) {
    std::string line = error.one_line();
    if (!error.advice().empty()) line += " (" + error.advice() + ")";
    std::puts(line.c_str());
  } catch (const std::exception& error) {
    std::puts(error.what());
  }
  return 1;
}
