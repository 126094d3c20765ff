#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/config/config.hpp"
#include "agent/config/reference.hpp"
#include "agent/server_names.hpp"
#include "base/error.hpp"
#include "harness/places.hpp"

namespace underway::agent {
namespace {

const std::filesystem::path kSource = source_dir();

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Configuration, ReferenceIsWhatTheDescriptionsSay) {
  const auto path = kSource / "docs/reference/agent-configuration.md";
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << configuration_reference();
  EXPECT_EQ(read(path), configuration_reference()) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

TEST(Configuration, ThePackagedFileMakesANodeAndServerWithoutProblems) {
  const Config config = load({kSource / "packaging/agent.hcl"}, {});
  EXPECT_TRUE(problems(config).empty());
  EXPECT_TRUE(config.server.enabled);
  EXPECT_TRUE(config.client.enabled);
  EXPECT_EQ(config.data_dir, kDefaultDataDir);
}

TEST(Configuration, AllProblemsAreNamedAtOnce) {
  Config config;
  config.data_dir = "relative";
  config.ports.http = 70000;
  config.log_level = "loud";
  config.hosts.enabled = true;
  EXPECT_EQ(problems(config).size(), 5U);  // and no role
}

TEST(Configuration, WhatTlsCannotBeIsNamed) {
  const auto count = [](const TlsSettings& tls) {
    Config config;
    config.data_dir = "/state";
    config.server.enabled = true;
    config.tls = tls;
    return problems(config).size();
  };
  EXPECT_EQ(count({}), 0U);
  EXPECT_EQ(count({.ca_file = "ca", .cert_file = "cert", .key_file = "key"}), 0U);
  EXPECT_EQ(count({.cert_file = "cert"}), 2U) << "neither key nor authority";
  EXPECT_EQ(count({.rpc = false}), 1U);
  EXPECT_EQ(count({.verify_server_hostname = false}), 1U);
  EXPECT_EQ(count({.node_certificate_ttl = std::chrono::seconds(1)}), 1U);
}

TEST(Configuration, OnlyDevOnThisMachineAloneIsPlainByItself) {
  struct Case {
    bool dev;
    const char* bind;
    std::optional<bool> tls;
    bool plain;
  };
  for (const Case& c :
       {Case{true, "127.0.0.1", {}, true}, Case{true, "127.0.0.1", true, false}, Case{true, "0.0.0.0", {}, false},
        Case{false, "127.0.0.1", {}, false}, Case{false, "0.0.0.0", false, true}}) {
    Config config;
    config.dev = c.dev;
    config.bind_addr = c.bind;
    config.tls.http = c.tls;
    EXPECT_EQ(config.plain_http(), c.plain) << c.bind << (c.dev ? " dev" : "");
  }
}

TEST(Configuration, RequestsNeedATokenUnlessItIsSaidOrDevIsOnThisMachineAlone) {
  struct Case {
    bool dev;
    const char* bind;
    std::optional<bool> said;
    bool acl;
  };
  for (const Case& c :
       {Case{false, "127.0.0.1", {}, true}, Case{true, "127.0.0.1", {}, false}, Case{true, "0.0.0.0", {}, true},
        Case{false, "0.0.0.0", false, false}, Case{true, "127.0.0.1", true, true}}) {
    Config config;
    config.dev = c.dev;
    config.bind_addr = c.bind;
    config.acl.enabled = c.said;
    EXPECT_EQ(config.acl_enabled(), c.acl) << c.bind << (c.dev ? " dev" : "");
  }
}

TEST(Configuration, WhatAccessCannotBeIsNamed) {
  Config config;
  config.data_dir = "/state";
  config.server.enabled = true;
  EXPECT_TRUE(problems(config).empty());
  config.acl.token_min_expiration_ttl = std::chrono::hours(25);
  config.audit.on_failure = "ignore";
  config.audit.rotate_bytes = 1;
  config.limits.http_burst = -1;
  EXPECT_EQ(problems(config).size(), 4U);
}

TEST(Configuration, WhatRequestsMayComputeHasBounds) {
  Config config;
  config.data_dir = "/state";
  config.server.enabled = true;
  EXPECT_TRUE(problems(config).empty());
  config.limits.work_threads = 0;
  config.limits.work_cpu = Duration::zero();
  config.limits.work_memory_mb = 1;
  config.limits.work_waiting = config.limits.work_waiting_of_one = 0;
  config.client.enforce_disk_below = 101;
  EXPECT_THAT(problems(config), testing::UnorderedElementsAre("limits.work_threads is 0; it may be 1 to 256",
                                                              testing::StartsWith("limits.work_cpu is less than 100ms"),
                                                              testing::StartsWith("limits.work_memory_mb is 1;"),
                                                              testing::StartsWith("limits.work_waiting is 0;"),
                                                              testing::StartsWith("limits.work_waiting_of_one is 0;"),
                                                              "client.enforce_disk_below is 101; it may be 0 to 100"));
}

TEST(Configuration, HowLongSilenceIsBorneHasALeast) {
  Config config;
  config.data_dir = "/state";
  config.server.enabled = true;
  config.server.heartbeat_ttl = std::chrono::seconds(2);
  config.server.heartbeat_grace = config.server.start_grace = config.server.capsule_lease = std::chrono::seconds(1);
  config.server.capsule_check_timeout = std::chrono::seconds(1);
  EXPECT_TRUE(problems(config).empty());
  config.server.heartbeat_ttl = std::chrono::seconds(1);
  config.server.heartbeat_grace = config.server.start_grace = config.server.capsule_lease = Duration::zero();
  config.server.capsule_check_timeout = Duration::zero();
  EXPECT_THAT(problems(config),
              testing::UnorderedElementsAre(testing::StartsWith("server.min_heartbeat_ttl 1s is less than 2s"),
                                            testing::StartsWith("server.heartbeat_grace 0s is"),
                                            testing::StartsWith("server.failover_heartbeat_ttl 0s is"),
                                            testing::StartsWith("server.capsule_lease 0s is"),
                                            testing::StartsWith("server.capsule_check_timeout 0s is")));
}

TEST(Configuration, TheServersCertificateIsForWhereItIsDialled) {
  Config config;
  config.name = "mgmt";
  config.bind_addr = "10.0.0.1";
  EXPECT_THAT(server_names(config), testing::IsSupersetOf({std::string("mgmt"), std::string("10.0.0.1")}));
  config.name = "a name, with blanks";
  config.addresses.http = "localhost";
  EXPECT_THAT(server_names(config), testing::Each(testing::AnyOf(hostname())));
}

TEST(Configuration, AnAddressMayHaveAPort) {
  Config config;
  config.data_dir = "/state";
  config.server.enabled = true;
  EXPECT_EQ(config.http_endpoint(), (http::Endpoint{.host = "127.0.0.1", .port = 4646}));
  config.bind_addr = "10.0.0.1:4700";
  EXPECT_EQ(config.http_endpoint(), (http::Endpoint{.host = "10.0.0.1", .port = 4700}));
  config.addresses.http = "[fd00::7]:4800";
  EXPECT_EQ(config.http_endpoint(), (http::Endpoint{.host = "fd00::7", .port = 4800}));
  EXPECT_TRUE(problems(config).empty());
  const auto names = server_names(config);
  EXPECT_THAT(names, testing::Contains("fd00::7"));
  EXPECT_THAT(names, testing::Not(testing::Contains(testing::HasSubstr("4800"))));
  config.addresses.http = "::1";
  config.ports.http = 80;
  EXPECT_EQ(config.http_endpoint(), (http::Endpoint{.host = "::1", .port = 80}));
  config.addresses.http = "none";
  EXPECT_FALSE(config.http_endpoint());
}

TEST(Configuration, WhatIsNoAddressIsNamedWithWhy) {
  Config config;
  config.data_dir = "/state";
  config.server.enabled = true;
  config.bind_addr = "10.0.0.1:http";
  EXPECT_THAT(problems(config),
              testing::ElementsAre(testing::AllOf(testing::StartsWith("bind_addr: '10.0.0.1:http' is no address"),
                                                  testing::HasSubstr("'http' is no port (0 to 65535)"))));
  config.addresses.http = "127.0.0.1:99999";
  EXPECT_THAT(problems(config), testing::ElementsAre(testing::AllOf(
                                    testing::StartsWith("addresses.http: '127.0.0.1:99999' is no address"),
                                    testing::HasSubstr("'99999' is no port (0 to 65535)"))));
}

TEST(Configuration, OnThisMachineAloneIsSeenThroughThePort) {
  for (const auto& [address, alone] :
       {std::pair("127.0.0.1:80", true), std::pair("[::1]:80", true), std::pair("localhost:80", true),
        std::pair("none", true), std::pair("0.0.0.0:80", false), std::pair("[::]:80", false),
        std::pair("[::1:2]:80", false)}) {
    Config config;
    config.addresses.http = address;
    EXPECT_EQ(config.is_alone(), alone) << address;
  }
}

TEST(Configuration, ANodeMayHaveSeveralNetworks) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("underway-config-{}.hcl", ::getpid());
  std::ofstream(path) << "client {\n  host_network \"fabric\" {\n    cidr = \"10.20.0.0/16\"\n  }\n"
                         "  host_network \"mgmt\" {\n    interface = \"eth1\"\n    reserved_ports = \"22\"\n  }\n}\n";
  const Config config = load({path}, {});
  std::filesystem::remove(path);
  ASSERT_EQ(config.client.host_networks.size(), 2U);
  EXPECT_EQ(config.client.host_networks[0].name, "fabric");
  EXPECT_EQ(config.client.host_networks[0].cidr, "10.20.0.0/16");
  EXPECT_EQ(config.client.host_networks[1].interface, "eth1");
  EXPECT_EQ(config.client.host_networks[1].reserved_ports, "22");
}

TEST(Configuration, ANodeMayLendDirectories) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("underway-config-{}.hcl", ::getpid());
  std::ofstream(path) << "client {\n  host_volume \"scratch\" {\n    path = \"/scratch\"\n  }\n"
                         "  host_volume \"software\" {\n    path = \"opt\"\n    read_only = true\n  }\n}\n";
  const Config config = load({path}, {});
  std::filesystem::remove(path);
  ASSERT_EQ(config.client.host_volumes.size(), 2U);
  EXPECT_EQ(config.client.host_volumes[0].name, "scratch");
  EXPECT_EQ(config.client.host_volumes[0].path, "/scratch");
  EXPECT_TRUE(config.client.host_volumes[1].read_only);
  EXPECT_THAT(problems(config), testing::Contains("host_volume 'software': path 'opt' is no absolute path"));
}

TEST(Configuration, PortsAreNumbersAndRanges) {
  EXPECT_EQ(parse_ports(""), std::vector<std::int64_t>{});
  EXPECT_EQ(parse_ports("22,8000-8002"), (std::vector<std::int64_t>{22, 8000, 8001, 8002}));
  for (const char* wrong : {"x", "1-", "5-3", "0", "70000", "1-2-3"}) EXPECT_THROW(parse_ports(wrong), Error) << wrong;
}

/// A file with this text, removed at the end.
class NomadsFile : public testing::Test {
 protected:
  NomadsFile() : directory_(fmt::format("/tmp/underway-nomads-file-{}", ::getpid())) {
    std::filesystem::create_directories(directory_);
  }
  ~NomadsFile() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& text) const {
    const auto path = directory_ / name;
    std::ofstream(path) << text;
    return path;
  }
  std::string refusal(const std::string& text) const {
    try {
      load({file("refused.hcl", text)}, {});
    } catch (const Error& error) {
      return error.text();
    }
    return {};
  }

  std::filesystem::path directory_;
};

constexpr const char* kSite = R"(
data_dir  = "/opt/nomad/data"
bind_addr = "0.0.0.0"
log_json  = true
leave_on_terminate = true
advertise { http = "10.0.0.1" }
ports {
  http = 4646
  rpc  = 4647
  serf = 4648
}
server {
  enabled          = true
  bootstrap_expect = 1
  raft_protocol    = 3
  encrypt          = "cg8StVXbQJ0gPvMd9o7yrg=="
  server_join { retry_join = ["10.0.0.2:4648"] }
  default_scheduler_config {
    scheduler_algorithm = "spread"
    preemption_config { batch_scheduler_enabled = true }
  }
}
client {
  enabled = true
  servers = ["10.0.0.1:4647", "[fd00::1]:4647", "server.site", "https://other.site:4000"]
  options = { "driver.raw_exec.enable" = "1" }
  meta { rack = "r7" }
  host_volume "scratch" { path = "/scratch" }
  chroot_env = { "/bin" = "/bin" }
  template { max_stale = "30s" }
}
plugin "raw_exec" { config { enabled = true } }
plugin "nomad-driver-podman" {
  config {}
}
consul { address = "127.0.0.1:8500" }
vault { enabled = false }
telemetry {
  prometheus_metrics         = true
  publish_allocation_metrics = true
}
tls {
  http = true
  rpc  = true
  rpc_upgrade_mode = false
}
)";

TEST_F(NomadsFile, IsTakenAndWhatSetsNothingIsTold) {
  std::vector<std::string> warnings;
  const auto config = load({file("nomad.hcl", kSite)}, {}, &warnings);
  EXPECT_EQ(config.data_dir, "/opt/nomad/data");
  EXPECT_TRUE(config.server.enabled && config.client.enabled && config.raw_exec_enabled());
  EXPECT_EQ(config.client.meta.at("rack"), "r7");
  ASSERT_EQ(config.client.host_volumes.size(), 1u);
  ASSERT_EQ(config.plugins.size(), 2u);
  EXPECT_EQ(config.plugins[1].name, "podman");
  EXPECT_EQ(config.client.servers, (std::vector<std::string>{"https://10.0.0.1:4646", "https://[fd00::1]:4646",
                                                             "https://server.site:4646", "https://other.site:4000"}));
  EXPECT_TRUE(problems(config).empty());
  const auto told = [&](const std::string& key) {
    return std::any_of(warnings.begin(), warnings.end(),
                       [&](const auto& warning) { return warning.starts_with("`" + key + "` has no effect: "); });
  };
  for (const char* key : {"log_json", "leave_on_terminate", "advertise", "rpc", "serf", "raft_protocol", "encrypt",
                          "server_join", "default_scheduler_config", "options", "chroot_env", "max_stale", "consul",
                          "vault", "prometheus_metrics", "rpc_upgrade_mode"})
    EXPECT_TRUE(told(key)) << key;
  EXPECT_FALSE(told("bootstrap_expect")) << "1 is what it is";
  EXPECT_TRUE(config.telemetry.publish_allocation_metrics) << "what the file says is done";
  EXPECT_FALSE(config.telemetry.publish_node_metrics);
}

TEST_F(NomadsFile, ThatWouldProtectLessOrNeedsMoreServersIsRefused) {
  EXPECT_NE(refusal("server { bootstrap_expect = 3 }").find("more than 1"), std::string::npos);
  EXPECT_NE(refusal("server { authoritative_region = \"eu\" }").find("authoritative_region"), std::string::npos);
  EXPECT_NE(refusal("client { disable_remote_exec = true }").find("disable_remote_exec"), std::string::npos);
  EXPECT_NE(refusal("keyring \"awskms\" { active = true }").find("keyring"), std::string::npos);
  EXPECT_NE(refusal("client { servers = [\"provider=aws tag_key=x\"] }").find("no address"), std::string::npos);
  EXPECT_NE(refusal("client { serverz = [\"x\"] }").find("serverz"), std::string::npos) << "no key of Nomad either";
}

TEST_F(NomadsFile, OfADirectoryAreReadInOrderHclAndJsonAlike) {
  file("10-base.hcl", "name = \"first\"\nregion = \"eu\"\nserver { enabled = true }\n");
  file("20-more.json", R"({"name": "second", "client": {"enabled": true, "node_class": "gpu"}})");
  file("30-last.hcl", "client { node_class = \"cpu\" }\n");
  file("40-ignored.txt", "name = \"third\"\n");
  const auto more = file("../" + directory_.filename().string() + "/more.conf", "datacenter = \"dc7\"\n");
  const auto config = load({directory_, more}, {});
  EXPECT_EQ(config.name, "second");
  EXPECT_EQ(config.region, "eu");
  EXPECT_EQ(config.datacenter, "dc7");
  EXPECT_TRUE(config.server.enabled && config.client.enabled);
  EXPECT_EQ(config.client.node_class, "cpu");
}

}  // namespace
}  // namespace underway::agent
