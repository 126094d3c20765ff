#include "run/config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "run/config/overlay_spec.hpp"
#include "run/root/layer.hpp"

namespace underway::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

boost::json::value json(std::string_view text) { return boost::json::parse(text); }

/// As hcl::decode_any gives it for the example of the reference.
const char* const kExample = R"({
  "image": "slurm:22.05.8", "hostname": "ctl",
  "overlay": [{"kind": "ext4", "size": "1G"}],
  "network": [{"cluster": [{"addresses": ["10.77.0.5/24"], "gateway": "10.77.0.1"}]},
              {"bmc": [{"bridge": "br9", "addresses": ["10.78.0.5/24", "fd00:78::5/64"], "vlan": 12}]}],
  "dns": [{"servers": ["10.77.0.1"], "search": ["hpc.example"], "hosts": [{"c1": "10.77.0.11"}]}],
  "bind": [{"/home": [{"source": "/srv/home"}]}],
  "service": [{"munge": [{"command": ["/usr/sbin/munged", "-F"], "user": "munge"}]},
              {"slurmctld": [{"depends_on": ["munge"], "stop_timeout": "1m"}]}],
  "step": [{"probe": [{"command": ["/bin/true"], "timeout": "5s"}]}],
  "cap_add": ["sys_time"], "sysctl": [{"net.ipv4.ip_forward": 1}]})";

image::Manifest manifest() {
  image::Manifest out;
  out.name = "slurm";
  out.version = "22.05.8";
  image::Service ctl;
  ctl.name = "slurmctld";
  ctl.command = {"/usr/sbin/slurmctld", "-D"};
  ctl.user = "slurm";
  out.services = {ctl};
  image::Step check, probe;
  check.command = {"/bin/check"};
  probe.moment = image::Moment::probe;
  probe.command = {"/bin/image-probe"};
  out.steps = {check, probe};
  return out;
}

TEST(Config, ReadsBlocksAsHclGivesThem) {
  const auto config = parse_config(json(kExample));
  ASSERT_EQ(config.networks.size(), 2U);
  EXPECT_EQ(config.networks[0].name, "cluster");
  EXPECT_EQ(config.networks[0].bridge_name(), "br-cluster");
  EXPECT_EQ(config.networks[1].bridge_name(), "br9");
  EXPECT_EQ(config.networks[1].vlan, 12);
  ASSERT_TRUE(config.overlay);
  EXPECT_EQ(overlay_spec(*config.overlay).size_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(config.dns->hosts.at("c1"), "10.77.0.11");
  EXPECT_EQ(config.binds.at(0).source, "/srv/home");
  EXPECT_EQ(config.sysctl.at("net.ipv4.ip_forward"), "1");
  EXPECT_NE(config.bounding() & *os::find_capability("sys_time"), 0U);
  EXPECT_EQ(config.bounding() & *os::find_capability("sys_admin"), 0U);
}

TEST(Config, ServicesChangeThoseOfTheImageAndStepsReplaceThem) {
  const auto program = program_of(json(kExample), manifest());
  ASSERT_EQ(program.services.size(), 2U);
  EXPECT_EQ(program.services[0].name, "slurmctld");
  EXPECT_THAT(program.services[0].command, ElementsAre("/usr/sbin/slurmctld", "-D"));
  EXPECT_EQ(program.services[0].user, "slurm");
  EXPECT_THAT(program.services[0].depends_on, ElementsAre("munge"));
  EXPECT_EQ(program.services[0].stop_timeout, std::chrono::minutes(1));
  ASSERT_EQ(program.steps.size(), 2U);
  EXPECT_THAT(program.steps[0].command, ElementsAre("/bin/true"));
  EXPECT_THAT(program.steps[1].command, ElementsAre("/bin/check"));
}

TEST(Config, TellsAllProblemsAtOnceEachWithItsPlace) {
  const auto found = problems(json(R"({
    "netwrk": 1, "name": "Not a name", "hostname": "-x", "attempts": "many",
    "overlay": [{"kind": "zfs", "size": "much"}],
    "network": [{"a": [{"addresses": ["10.0.0.1"], "gateway": "10.9.0.1", "vlan": 5000, "mac": "zz"}]},
                {"a": [{"interface": "eth0", "addresses": ["10.1.0.5/24"], "gateway": "10.2.0.1"}]}],
    "bind": [{"home": [{}]}, {"/proc": [{}]}],
    "service": [{"x": [{"command": ["relative"], "restart": "maybe", "stop_signal": "SIGFOO"}]}],
    "step": [{"before_lunch": [{}]}],
    "capabilities": ["sys_adm"], "sysctl": [{"kernel.hostname": "x"}]})"));
  const auto text = join(found, "\n");
  for (const char* expected : {"config.image: is required",
                               "config.netwrk: is not known; did you mean 'network'?",
                               "config.name: 'Not a name' is none",
                               "config.hostname: '-x' is no host name",
                               "config.attempts: must be a whole number",
                               "config.overlay.kind: must be one of directory, ext4",
                               "config.overlay.size: 'much' is no size",
                               "config.network \"a\".addresses: '10.0.0.1' is no address with a prefix",
                               "config.network \"a\".vlan",
                               "config.network \"a\".mac: 'zz' is no hardware address",
                               "config.network \"a\": is there more than once",
                               "config.network \"a\".interface: 'eth0' is that of another network",
                               "config.network \"a\".gateway: 10.2.0.1 lies in none of the networks of its addresses",
                               "config.bind \"home\": is no absolute path",
                               "config.bind \"/proc\": is the capsule's own",
                               "config.service \"x\".command: the program 'relative' is no absolute path",
                               "config.service \"x\".restart: must be one of always, on_failure, never",
                               "config.service \"x\".stop_signal: 'SIGFOO' is no signal",
                               "config.step \"before_lunch\"",
                               "config.capabilities: there is no capability 'sys_adm'; did you mean 'sys_admin'?",
                               "config.sysctl[\"kernel.hostname\"]: is no setting of a network"}) {
    EXPECT_THAT(text, HasSubstr(expected));
  }
}

TEST(Config, IsProtectedUnlessItSaysOtherwise) {
  const auto nothing = protection_of(json(kExample));
  EXPECT_TRUE(nothing.standby);
  EXPECT_EQ(nothing.every, std::chrono::milliseconds(500));
  EXPECT_EQ(nothing.loss, std::chrono::seconds(5));
  EXPECT_FALSE(nothing.keeps_nothing);
  const auto text = json(R"({"image": "x:1", "protect": [{"every": "2s", "keeps_nothing": true}]})");
  const auto some = protection_of(text);
  EXPECT_EQ(some.every, std::chrono::seconds(2));
  EXPECT_EQ(some.rpo, std::chrono::minutes(5));
  EXPECT_TRUE(some.keeps_nothing);
  EXPECT_THAT(problems(text), IsEmpty());
  EXPECT_FALSE(nothing.sync);
  EXPECT_THAT(problems(json(R"({"image": "x:1", "protect": [{"sync": true}]})")), IsEmpty());
  EXPECT_THAT(
      problems(json(R"({"image": "x:1", "protect": [{"sync": true, "standby": false, "keeps_nothing": true}]})")),
      testing::UnorderedElementsAre(HasSubstr("protect.sync: needs a standby"),
                                    HasSubstr("protect.sync: has nothing to save")));
  EXPECT_THAT(problems(json(R"({"image": "x:1", "protect": [{"every": "1ms", "loss": "10m", "replicas": 2}]})")),
              testing::UnorderedElementsAre(HasSubstr("protect.every: is less than 100ms"),
                                            HasSubstr("protect.rpo: is less than `loss`"), HasSubstr("replicas")));
}

TEST(Config, TakesVariablesThatAreNotReplacedYet) {
  EXPECT_THAT(problems(json(R"({"image": "${meta.image}", "attempts": "${meta.n}",
    "network": [{"a": [{"addresses": ["${attr.x}/24"], "gateway": "10.0.0.1", "vlan": "${meta.vlan}"}]}]})")),
              IsEmpty());
}

TEST(Config, RefusesServicesThatDoNotFitTogether) {
  const auto wrong = json(R"({"image": "x", "service": [{"a": [{"command": ["/a"], "depends_on": ["b"]}]},
                                                        {"b": [{"command": ["/b"], "depends_on": ["a"]}]},
                                                        {"c": [{"command": ["/c"], "depends_on": ["nobody"]}]}]})");
  EXPECT_THAT(problems(wrong), IsEmpty());
  try {
    static_cast<void>(program_of(wrong, {}));
    ADD_FAILURE() << "a circle was taken";
  } catch (const Error& e) {
    EXPECT_THAT(e.text(), HasSubstr("circle"));
    EXPECT_THAT(e.text(), HasSubstr("'nobody'"));
  }
  EXPECT_THROW(static_cast<void>(program_of(json(R"({"image": "x"})"), {})), Error);
}

TEST(Config, SizesArePowersOf1024) {
  EXPECT_EQ(parse_size("4096"), 4096U);
  EXPECT_EQ(parse_size("2k"), 2048U);
  EXPECT_EQ(parse_size("512MiB"), 512U << 20);
  EXPECT_EQ(parse_size("10 GB"), std::uint64_t{10} << 30);
  for (const char* none : {"", "0", "G", "1X", "-1G", "99999999999G"}) EXPECT_FALSE(parse_size(none)) << none;
}

TEST(Config, ACapsuleIsCalledAfterItsJobOrGroup) {
  EXPECT_EQ(capsule_name("given", "job", "group", "0", true), "given");
  EXPECT_EQ(capsule_name("", "job", "group", "0", true), "job");
  EXPECT_EQ(capsule_name("", "job", "group", "1", true), "job.group.1");
  EXPECT_EQ(capsule_name("", "job", "group", "0", false), "job.group.0");
}

TEST(Layer, HostsNameTheCapsuleFirstAndEachNameOnce) {
  LayerInput input;
  input.hostname = "ctl";
  input.networks = parse_config(json(kExample)).networks;
  input.dns.hosts = {{"c1", "10.77.0.11"}};
  input.host_file = "127.0.0.1 localhost me\n10.77.0.12 c2 # comment\n10.77.0.99 ctl c1\n";
  EXPECT_EQ(render_hosts(input),
            "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n10.77.0.5 ctl\n10.77.0.11 c1\n"
            "10.77.0.12 c2\n");
  input.networks.clear();
  EXPECT_THAT(render_hosts(input), HasSubstr("127.0.1.1 ctl\n"));
}

TEST(Layer, ResolvConfIsEmptyWithoutServers) {
  EXPECT_EQ(render_resolv_conf({}), "");
  EXPECT_EQ(render_resolv_conf({.servers = {"10.0.0.1"}, .search = {"a.b", "c"}, .hosts = {}}),
            "nameserver 10.0.0.1\nsearch a.b c\n");
}

}  // namespace
}  // namespace underway::run
