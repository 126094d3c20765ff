#include "node/volume/volume_plugin.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::node {
namespace {

constexpr std::size_t kOutputLimit = 64U << 10;  ///< bytes of each stream
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool is_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

Error denied(const std::string& path, std::string why) {
  return Error(Code::denied, fmt::format("plugin '{}' is not run", path)).because(std::move(why));
}

/// Whoever can write it can be root here.
void check_owner(const std::string& path, const struct stat& found) {
  if (found.st_uid != 0 && found.st_uid != ::geteuid())
    throw denied(path, fmt::format("'{}' belongs to user {}", path, found.st_uid)).advise("let root own it");
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw denied(path, fmt::format("others may write it (mode {:o})", found.st_mode & 07777))
        .advise(fmt::format("chmod go-w '{}'", path));
}

/// The program, if it may be run.
std::string checked(const std::string& directory, const std::string& name) {
  if (!is_name(name)) throw Error(Code::invalid, fmt::format("'{}' is no name of a plugin", name));
  const std::string path = directory + "/" + name;
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    throw Error(Code::not_found, fmt::format("there is no plugin '{}' here", name))
        .because(fmt::format("'{}' does not exist", path))
        .advise("put it there on every node that is to have such volumes, and restart the agent");
  }
  if (!S_ISREG(found.st_mode)) throw denied(path, "it is no file");
  if ((found.st_mode & S_IXUSR) == 0) throw denied(path, "it is not executable");
  check_owner(path, found);
  if (::stat(directory.c_str(), &found) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", directory));
  check_owner(directory, found);
  return path;
}

/// What comes out of both pipes until both end, the process has ended, or it is too late.
struct Output {
  std::string out, err;
  bool late = false, too_long = false;
};

bool read_some(const os::Fd& fd, std::string& into, Output& output) {
  std::array<char, 4096> piece{};
  const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  if (into.size() + static_cast<std::size_t>(got) > kOutputLimit)
    output.too_long = true;
  else
    into.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

Output collect(os::Fd out, os::Fd err, const os::Child& child, std::chrono::steady_clock::time_point deadline) {
  Output output;
  bool ended = false;
  while ((out || err) && !output.too_long) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      output.late = true;
      return output;
    }
    std::array<pollfd, 3> waits = {
        {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}, {ended ? -1 : child.pidfd().fd().get(), POLLIN, 0}}};
    // What it has left running may keep the pipes open: that is not waited for.
    const int timeout = ended ? 0 : static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
    const int ready = ::poll(waits.data(), waits.size(), timeout);
    if (ready < 0 && errno != EINTR) throw errno_error(errno, "cannot wait for a plugin");
    if (ready == 0 && ended) return output;
    if (waits[0].revents != 0 && !read_some(out, output.out, output)) out.reset();
    if (waits[1].revents != 0 && !read_some(err, output.err, output)) err.reset();
    ended = ended || waits[2].revents != 0;
  }
  return output;
}

/// The JSON that it printed; null when it printed something else.
boost::json::value parsed(const std::string& text) {
  try {
    return json::parse(text);
  } catch (const Error&) {
    return nullptr;
  }
}

Error failed(const PluginCall& call, std::string why) {
  return Error(Code::internal, fmt::format("plugin '{}' could not {}", call.plugin, call.operation))
      .because(std::move(why));
}

PluginAnswer answer_of(const PluginCall& call, const boost::json::value& said) {
  PluginAnswer answer;
  if (call.operation == "delete") return answer;
  if (!said.is_object()) throw failed(call, "what it printed is no JSON object");
  answer.version = json::text_at(said, "version");
  answer.path = json::text_at(said, "path");
  if (const auto* bytes = said.get_object().if_contains("bytes"); bytes != nullptr && bytes->is_number())
    answer.bytes =
        bytes->is_double() ? static_cast<std::int64_t>(bytes->get_double()) : bytes->to_number<std::int64_t>();
  if (call.operation == "fingerprint" && answer.version.empty()) throw failed(call, "it told no version");
  if (call.operation == "create" && !answer.path.starts_with('/')) throw failed(call, "it told no absolute path");
  return answer;
}

}  // namespace

PluginAnswer call_plugin(const PluginCall& call) {
  const std::string program = checked(call.directory, call.plugin);
  os::Pipe out = os::open_pipe(), err = os::open_pipe();
  os::set_nonblocking(out.read, true);
  os::set_nonblocking(err.read, true);
  os::SpawnSpec spec;
  spec.argv = {program, call.operation};
  spec.env = {fmt::format("PATH={}", kPath), fmt::format("DHV_OPERATION={}", call.operation)};
  for (const auto& [name, value] : call.variables) spec.env.push_back(name + "=" + value);
  spec.out = out.write.get();
  spec.err = err.write.get();
  spec.new_session = true;
  // An agent that is started again calls it again: two of them shall not work on one volume.
  spec.parent_death_signal = SIGKILL;
  const auto deadline = std::chrono::steady_clock::now() + call.limit;
  os::Child child = os::spawn(spec);
  const pid_t group = child.pid();
  out.write.reset();
  err.write.reset();
  const Output output = collect(std::move(out.read), std::move(err.read), child, deadline);
  const auto left = std::max<Duration>(deadline - std::chrono::steady_clock::now(), Duration{0});
  std::optional<os::ExitStatus> status;
  if (!output.late && !output.too_long) status = child.wait(left);
  if (!status) {
    ::kill(-group, SIGKILL);
    child.kill();
  }
  for (const auto& line : split(output.err, '\n'))
    if (!trim(line).empty()) log::debug("node: plugin {}: {}", call.plugin, line);
  if (output.too_long) throw failed(call, fmt::format("it printed more than {} bytes", kOutputLimit));
  if (!status) {
    throw Error(Code::internal, fmt::format("plugin '{}' could not {}", call.plugin, call.operation))
        .because(fmt::format("it did not end within {} and was killed", human_duration(call.limit)));
  }
  const auto said = parsed(output.out);
  if (const auto error = json::text_at(said, "error"); !error.empty()) throw failed(call, error);
  if (!status->success()) {
    const auto words = std::string(trim(output.err)).substr(0, 500);
    throw failed(call, words.empty() ? os::to_string(*status) : fmt::format("{}: {}", os::to_string(*status), words));
  }
  return answer_of(call, said);
}

std::vector<std::string> find_plugins(const std::string& directory, std::vector<std::string>& problems) {
  std::vector<std::string> names;
  if (!os::exists(directory)) return names;
  for (const auto& entry : os::list_directory(directory)) {
    const std::string path = directory + "/" + entry.name;
    // Configuration of plugins may lie beside them.
    if (!is_name(entry.name) || entry.type != DT_REG || ::access(path.c_str(), X_OK) != 0) continue;
    try {
      checked(directory, entry.name);
      names.push_back(entry.name);
    } catch (const Error& error) {
      problems.push_back(error.one_line());
    }
  }
  return names;
}

}  // namespace underway::node
