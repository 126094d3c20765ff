#pragma once
/// @file
/// Names whose look-up does not end, as where the name servers are gone. Included by one file of a test program: it
/// stands in the place of the C library's getaddrinfo(3).

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <string_view>

namespace underway::http::testing {

/// While one lives, hosts below `.slow` are looked for; then they are not found.
class SlowNames {
 public:
  SlowNames() { slow() = true; }
  ~SlowNames() {
    slow() = false;
    slow().notify_all();
  }
  SlowNames(const SlowNames&) = delete;
  SlowNames& operator=(const SlowNames&) = delete;
  static std::atomic<bool>& slow() {
    static std::atomic<bool> value = false;
    return value;
  }
};

}  // namespace underway::http::testing

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** out) {
  if (host != nullptr && std::string_view(host).ends_with(".slow")) {
    underway::http::testing::SlowNames::slow().wait(true);
    return EAI_NONAME;
  }
  static const auto libc = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return libc(host, service, hints, out);
}
