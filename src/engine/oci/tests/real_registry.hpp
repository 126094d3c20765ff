#pragma once
/// @file
/// Debian's docker-registry, as a process of a test or a benchmark.
#include <poll.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::oci {

/// docker-registry(1) on a free port, until the end of the test.
class RealRegistry {
 public:
  explicit RealRegistry(const std::string& directory) {
    os::make_directories(directory);
    // It takes any port and tells in its log which one that is.
    os::write_file(directory + "/config.yml",
                   "version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: " + directory +
                       "/data}}\nhttp: {addr: '127.0.0.1:0'}\n");
    os::Pipe log = os::open_pipe();
    os::SpawnSpec spec;
    spec.argv = {"docker-registry", "serve", directory + "/config.yml"};
    spec.env = {"PATH=/usr/bin:/bin", "OTEL_TRACES_EXPORTER=none"};
    spec.out = spec.err = log.write.get();
    child_.emplace(os::spawn(spec));
    log.write.reset();
    std::string said;
    while (host_.empty() && os::wait_for(log.read.get(), POLLIN, 30'000)) {
      char piece[4096];
      const auto got = ::read(log.read.get(), piece, sizeof piece);
      if (got <= 0) break;
      said.append(piece, static_cast<std::size_t>(got));
      const auto at = said.find("listening on ");
      const auto end = at == std::string::npos ? at : said.find_first_of(",\" \n", at + 13);
      if (end != std::string::npos) host_ = said.substr(at + 13, end - at - 13);
    }
    if (host_.empty()) throw Error(Code::unavailable, "docker-registry did not start").because(said);
    // Others read what it says from now on.
    drain_ = std::jthread([pipe = std::move(log.read)] {
      char piece[4096];
      while (::read(pipe.get(), piece, sizeof piece) > 0) continue;
    });
  }
  ~RealRegistry() { child_->kill(); }
  const std::string& host() const { return host_; }

 private:
  std::string host_;
  std::jthread drain_;
  std::optional<os::Child> child_;
};

}  // namespace underway::oci
