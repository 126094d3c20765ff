#include "oci/config.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "oci/document.hpp"

namespace underway::oci {
namespace {

constexpr std::size_t kConfigLayerLimit = 1000;
/// Arguments and variables of a process are limited by the kernel to far less (execve(2)).
constexpr std::size_t kListLimit = 10'000;

using Anything = std::map<std::string, boost::json::value>;

/// The members as they are written.
struct Run {
  std::vector<std::string> entrypoint, cmd, env;
  std::string working_dir, user, stop_signal;
  Anything volumes, exposed_ports;
  std::map<std::string, std::string> labels;
  std::optional<Healthcheck> healthcheck;
};
struct RootFs {
  std::string type = "layers";
  std::vector<std::string> diff_ids;
};
struct Written {
  std::string architecture, os, created;
  Run config;
  RootFs rootfs;
};

using describe::Builder;
using describe::Structure;
using describe::Tag;

}  // namespace

const Structure& description(Tag<Healthcheck>) {
  static const Structure s = Builder<Healthcheck>("healthcheck", "How Docker asks whether it is well.")
                                 .wire<&Healthcheck::test>("Test", "What to run.")
                                 .wire<&Healthcheck::interval>("Interval", "Between runs.")
                                 .wire<&Healthcheck::timeout>("Timeout", "Of a run.")
                                 .wire<&Healthcheck::start_period>("StartPeriod", "Failures do not count.")
                                 .wire<&Healthcheck::retries>("Retries", "Failures until it is unwell.")
                                 .done();
  return s;
}

namespace {

const Structure& description(Tag<Run>) {
  static const Structure s = Builder<Run>("config", "How it is run.")
                                 .wire<&Run::entrypoint>("Entrypoint", "The program.")
                                 .wire<&Run::cmd>("Cmd", "Its arguments.")
                                 .wire<&Run::env>("Env", "Its environment.")
                                 .wire<&Run::working_dir>("WorkingDir", "Where it starts.")
                                 .wire<&Run::user>("User", "As whom.")
                                 .wire<&Run::volumes>("Volumes", "Directories with data.")
                                 .wire<&Run::exposed_ports>("ExposedPorts", "Where it listens.")
                                 .wire<&Run::labels>("Labels", "For people.")
                                 .wire<&Run::stop_signal>("StopSignal", "What ends it.")
                                 .wire<&Run::healthcheck>("Healthcheck", "Whether it is well.")
                                 .done();
  return s;
}

const Structure& description(Tag<RootFs>) {
  static const Structure s = Builder<RootFs>("rootfs", "Its layers.")
                                 .wire<&RootFs::type>("type", "layers.")
                                 .wire<&RootFs::diff_ids>("diff_ids", "Digests of the archives.")
                                 .done();
  return s;
}

const Structure& description(Tag<Written>) {
  static const Structure s = Builder<Written>("image", "The configuration of an image.")
                                 .wire<&Written::architecture>("architecture", "As Go calls it.")
                                 .wire<&Written::os>("os", "The system.")
                                 .wire<&Written::created>("created", "When.")
                                 .wire<&Written::config>("config", "How it is run.")
                                 .wire<&Written::rootfs>("rootfs", "Its layers.")
                                 .done();
  return s;
}

Error wrong(std::string_view member, std::string why) {
  return Error(Code::invalid, fmt::format("the configuration of the image is wrong: {}", member))
      .because(std::move(why));
}

/// What becomes an argument of a system call ends at a zero byte.
void check_text(std::string_view member, const std::string& text) {
  if (text.find('\0') != std::string::npos) throw wrong(member, "it holds a zero byte");
}

void check_list(std::string_view member, const std::vector<std::string>& list) {
  if (list.size() > kListLimit) throw wrong(member, fmt::format("it has {} entries", list.size()));
  for (std::size_t i = 0; i < list.size(); ++i) check_text(fmt::format("{}[{}]", member, i), list[i]);
}

std::vector<std::string> keys(std::string_view member, const Anything& map) {
  std::vector<std::string> out;
  for (const auto& [key, value] : map) out.push_back(key);
  check_list(member, out);
  return out;
}

}  // namespace

ImageConfig parse_config(std::string_view text) {
  auto written = json::decode_text<Written>(text);
  Run& run = written.config;
  check_list("config.Entrypoint", run.entrypoint);
  check_list("config.Cmd", run.cmd);
  check_list("config.Env", run.env);
  check_text("config.WorkingDir", run.working_dir);
  check_text("config.User", run.user);
  check_text("config.StopSignal", run.stop_signal);
  for (std::size_t i = 0; i < run.env.size(); ++i)
    if (run.env[i].empty() || run.env[i].front() == '=' || run.env[i].find('=') == std::string::npos)
      throw wrong(fmt::format("config.Env[{}]", i), fmt::format("'{}' is no NAME=value", run.env[i].substr(0, 100)));
  // Docker takes a relative one from "/".
  if (!run.working_dir.empty() && run.working_dir.front() != '/') run.working_dir.insert(0, "/");
  ImageConfig out{.entrypoint = std::move(run.entrypoint),
                  .cmd = std::move(run.cmd),
                  .env = std::move(run.env),
                  .working_dir = std::move(run.working_dir),
                  .user = std::move(run.user),
                  .volumes = keys("config.Volumes", run.volumes),
                  .exposed_ports = keys("config.ExposedPorts", run.exposed_ports),
                  .labels = std::move(run.labels),
                  .stop_signal = std::move(run.stop_signal),
                  .healthcheck = std::move(run.healthcheck),
                  .architecture = std::move(written.architecture),
                  .os = std::move(written.os),
                  .created = std::move(written.created),
                  .diff_ids = std::move(written.rootfs.diff_ids)};
  if (out.healthcheck) check_list("config.Healthcheck.Test", out.healthcheck->test);
  for (auto& volume : out.volumes)
    if (!volume.starts_with('/')) volume.insert(0, "/");
  if (written.rootfs.type != "layers") throw wrong("rootfs.type", fmt::format("it is '{}'", written.rootfs.type));
  if (out.diff_ids.size() > kConfigLayerLimit)
    throw Error(Code::too_large, "the image has too many layers").because(fmt::format("{}", out.diff_ids.size()));
  for (const auto& id : out.diff_ids) check_digest(id);
  return out;
}

}  // namespace underway::oci
