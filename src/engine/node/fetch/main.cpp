// underway-fetch: fetches one artifact. Reads a FetchRequest from standard input; says on standard output why it
// failed. `underway-fetch pack ROOT PART…` writes a disk to standard output, `underway-fetch unpack DIRECTORY` reads
// one from standard input; these say on standard error why they failed.
#include <curl/curl.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "node/fetch/fetch.hpp"

namespace {

using namespace underway;

void carry(const std::vector<std::string>& words) {
  if (words[0] == "pack" && words.size() > 2) {
    node::fetch::pack(words[1], {words.begin() + 2, words.end()}, os::Fd(1));
  } else if (words[0] == "unpack" && words.size() == 2) {
    node::FetchRequest limits;
    limits.max_files = 1'000'000;
    limits.keep_owner = true;
    node::fetch::unpack(os::Fd(0), "tar", os::open_file(words[1], O_RDONLY | O_DIRECTORY), "", limits);
  } else {
    throw Error(Code::invalid, "underway-fetch: neither pack ROOT PART… nor unpack DIRECTORY");
  }
}

}  // namespace

int main(int count, char** arguments) {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};  // headers may hold credentials
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(022);
  const std::vector<std::string> words(arguments + 1, arguments + count);
  try {
    if (!words.empty()) {
      carry(words);
      return 0;
    }
    const os::Fd input(0);
    const std::string text = os::read_all(input, 1U << 20, "the request");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    node::fetch::fetch(json::decode_text<node::FetchRequest>(text, "request"));
    return 0;
  } catch (const Error& error) {
    std::string line = error.one_line();
    if (!error.advice().empty()) line += " (" + error.advice() + ")";
    std::fprintf(words.empty() ? stdout : stderr, "%s\n", line.c_str());
  } catch (const std::exception& error) {
    std::puts(error.what());
  }
  return 1;
}
