// Eliminating instead of moving, as the site of "Decoupling OpenHPC Critical Services" did (section 4): the survey
// advises it, the change is made with the real daemons, and a second capture shows that nothing is left of the flows.
#include <gmock/gmock.h>

#include "adoption/division/division.hpp"
#include "base/text.hpp"
#include "harness/places.hpp"
#include "inspection/survey_host.hpp"
#include "traffic/testing/lab.hpp"

namespace underway::adoption::testing {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kManual = "man/man1/qsub.1";
constexpr const char* kLocale = "locale/de_DE/LC_MESSAGES/slurm.mo";

/// Flows of a door, whoever took part.
std::int64_t flows_at(const traffic::Traffic& traffic, std::int64_t port) {
  return std::count_if(traffic.flows.begin(), traffic.flows.end(),
                       [&](const traffic::ServiceFlow& flow) { return flow.port == port; });
}
std::int64_t flows_of(const traffic::Traffic& traffic, const std::string& application) {
  return std::count_if(traffic.flows.begin(), traffic.flows.end(),
                       [&](const traffic::ServiceFlow& flow) { return flow.application == application; });
}

/// The management server: a daemon of it for what runs, and its files.
inspection::HostSurvey look(const traffic::testing::Lab& lab, std::size_t daemon) {
  const TimePoint now = SystemClock().now();
  return merge({inspection::survey_host({.process = lab.pid(daemon)}, now),
                inspection::survey_host({.root = lab.path("root")}, now)});
}

std::string advice(const Division& division, const char* service) {
  const auto* found = division.find(service);
  return found == nullptr ? "there is no such service" : join(found->advice, "\n");
}

/// The program that examples/decoupled has for it: a line of figures in the node's log, and nothing that listens.
void observe_by_syslog(traffic::testing::Lab& lab) {
  lab.file("bin/logger", fmt::format("#!/bin/sh\nexec /usr/bin/logger -u {} \"$@\"\n", lab.path("syslog/log")), 0755);
  const std::string observe = source_dir() + "/examples/decoupled/nodes/observe";
  const std::string path = fmt::format("PATH={}:/usr/sbin:/usr/bin:/sbin:/bin", lab.path("bin"));
  lab.daemon(lab.node, {"env", "INTERVAL=1", path, "unshare", "--mount", "sh", "-c",
                        fmt::format("mount -t tmpfs none /run && exec sh {}", observe)});
}

/// The files go into the node's image, compressed.
void put_into_image(traffic::testing::Lab& lab) {
  for (const auto* file : {kManual, kLocale}) {
    const std::string to = lab.path(std::string("image/usr/share/") + file);
    os::make_directories(std::filesystem::path(to).parent_path());
    const auto packed = lab.run(
        lab.mgmt, {"sh", "-c", fmt::format("gzip -9c {} > {}.gz", lab.path(std::string("nfs/export/") + file), to)});
    ASSERT_TRUE(packed.status.success()) << packed.err;
  }
}

TEST(Eliminate, WhatTheSurveyAdvisesLeavesNoFlowBehind) {
  for (const auto* program : {"rsyslogd", "logger", "ganesha.nfsd", "nfs-cat", "gmond", "gzip"}) {
    if (traffic::testing::find_program(program).empty()) GTEST_SKIP() << program << " is not installed";
  }
  traffic::testing::Lab lab;
  lab.file(std::string("nfs/export/") + kManual, ".TH QSUB 1\n");
  lab.file(std::string("nfs/export/") + kLocale, "Auftrag\n");
  lab.file("root/etc/exports", fmt::format("{} 10.66.0.0/24(ro,no_subtree_check)\n", lab.path("nfs/export")));
  traffic::testing::start_rsyslog(lab);
  const auto nfs = traffic::testing::start_nfs(lab, "RO");

  // As it was: figures by Ganglia, manuals and locales over NFS.
  traffic::testing::LiveCapture before(lab, "before");
  const auto gmond = traffic::testing::start_gmond(lab);
  const auto over_nfs = [](const char* file) { return fmt::format("nfs://10.66.0.1/export/{}?version=4", file); };
  EXPECT_TRUE(lab.try_until(lab.node, {"nfs-cat", over_nfs(kManual)}, "QSUB"));
  EXPECT_TRUE(lab.try_until(lab.node, {"nfs-cat", over_nfs(kLocale)}, "Auftrag"));
  EXPECT_TRUE(traffic::testing::wait_for(before.journal(), [](const traffic::Traffic& traffic) {
    return flows_of(traffic, "ganglia") > 0 && flows_of(traffic, "nfs") > 0;
  }));
  before.stop();
  const auto was = traffic::read_traffic({before.journal()}, {});
  EXPECT_EQ(flows_at(was, 8649), 1);
  EXPECT_EQ(flows_at(was, 2049), 1);
  const auto division = divide(was, {look(lab, nfs)}, {}, ServiceCatalog{});
  EXPECT_THAT(advice(division, "ganglia"), HasSubstr("what must be kept can go to syslog"));
  EXPECT_THAT(advice(division, "nfs"), HasSubstr("put it into the nodes' image"));
  EXPECT_THAT(advice(division, "nfs"), HasSubstr("there is no NFS to move"));

  // As it is advised. The NFS server stays, and would answer.
  lab.stop(gmond);
  put_into_image(lab);
  observe_by_syslog(lab);
  traffic::testing::LiveCapture after(lab, "after");
  for (const auto& [file, text] : {std::pair(kManual, "QSUB"), std::pair(kLocale, "Auftrag")})
    EXPECT_TRUE(lab.try_until(lab.node, {"gzip", "-dc", lab.path(fmt::format("image/usr/share/{}.gz", file))}, text));
  // For longer than gmond would have been silent (it spoke every two seconds).
  const std::string lines =
      fmt::format("test $(grep -c 'metrics: load=' {}) -ge 4 && echo there", lab.path("syslog/all.log"));
  EXPECT_TRUE(lab.try_until(lab.mgmt, {"sh", "-c", lines}, "there"));
  EXPECT_TRUE(traffic::testing::wait_for(after.journal(),
                                         [](const traffic::Traffic& traffic) { return flows_at(traffic, 514) > 0; }));
  const auto end = after.stop();
  EXPECT_EQ(end.lost, 0U);
  const auto is = traffic::read_traffic({after.journal()}, {});
  EXPECT_GE(is.last - is.first, std::chrono::nanoseconds(2s).count());
  for (const auto* application : {"ganglia", "nfs"}) EXPECT_EQ(flows_of(is, application), 0) << application;
  for (const std::int64_t port : {8649, 2049}) EXPECT_EQ(flows_at(is, port), 0) << port;
  const auto left = divide(is, {}, {}, ServiceCatalog{});
  EXPECT_EQ(left.find("ganglia"), nullptr);
  EXPECT_EQ(left.find("nfs"), nullptr);
  EXPECT_NE(left.find("syslog"), nullptr) << "which has the figures now";
}

}  // namespace
}  // namespace underway::adoption::testing
