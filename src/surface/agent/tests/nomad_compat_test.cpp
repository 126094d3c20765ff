// The switch: what it gives, what it never gives, and that each is told.
#include "agent/config/nomad_compat.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace underway::agent {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Config read_as_nomad(const std::string& text, CompatBy by = CompatBy::nothing) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("underway-compat-{}.hcl", ::getpid());
  std::ofstream(path) << text;
  Config base;
  base.data_dir = "/state";
  base.server.enabled = true;
  Config config = load({path}, base);
  std::filesystem::remove(path);
  config.compat_by = by;
  return config;
}

std::vector<std::string> told(const Config& config) {
  std::vector<std::string> out;
  for (const auto& line : compat_report(config)) out.push_back((line.loud ? "LOUD " : "") + line.text);
  return out;
}

TEST(NomadCompat, IsOffUnlessSaid) {
  const Config config = read_as_nomad("");
  EXPECT_FALSE(config.nomad_compat_on() || config.plain_http() || config.network_bootstrap() ||
               config.readable_token_secrets() || config.raw_exec_as_root());
  EXPECT_TRUE(config.acl_enabled());
  EXPECT_EQ(config.service_provider(), "nomad");
  EXPECT_THAT(told(config), IsEmpty());
}

TEST(NomadCompat, OnThisMachineAloneIsAsInNomad) {
  const Config config = read_as_nomad("nomad_compat = true");
  EXPECT_TRUE(config.plain_http() && config.network_bootstrap() && config.readable_token_secrets() &&
              config.raw_exec_as_root());
  EXPECT_FALSE(config.acl_enabled());
  EXPECT_EQ(config.service_provider(), "consul");
}

TEST(NomadCompat, TellsWhatItGaveUpALineEachAndHowToHaveItBack) {
  const auto lines = told(read_as_nomad("nomad_compat = true"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("LOUD"))));
  EXPECT_THAT(lines, Each(HasSubstr("`")));
  ASSERT_EQ(lines.size(), 6u) << "on; the wire; no token; secrets; root; providers";
  for (const char* back : {"`nomad_compat = false`", "`tls { http = true }`", "`acl { enabled = true }`",
                           "`acl { readable_token_secrets = false }`", "`server { raw_exec_as_root = false }`",
                           "`server { service_provider = \"nomad\" }`"})
    EXPECT_THAT(lines, Contains(HasSubstr(back)));
  EXPECT_THAT(told(read_as_nomad("nomad_compat = true\nacl { enabled = true }")),
              Contains(HasSubstr("`acl { network_bootstrap = false }`")));
}

TEST(NomadCompat, GoesBehindWhatTheSameConfigurationSays) {
  const Config config = read_as_nomad(R"(nomad_compat = true
tls { http = true }
acl {
  enabled                = true
  network_bootstrap      = false
  readable_token_secrets = false
}
server {
  raw_exec_as_root = false
  service_provider = "nomad"
})");
  EXPECT_FALSE(config.plain_http() || config.network_bootstrap() || config.readable_token_secrets() ||
               config.raw_exec_as_root());
  EXPECT_TRUE(config.acl_enabled());
  EXPECT_EQ(config.service_provider(), "nomad");
  EXPECT_EQ(told(config).size(), 1u) << "that it is on";
}

TEST(NomadCompat, ShowsTheCertificateThatItIsGiven) {
  EXPECT_FALSE(read_as_nomad("nomad_compat = true\ntls {\n ca_file = \"ca\"\n cert_file = \"c\"\n key_file = \"k\"\n}")
                   .plain_http());
  EXPECT_FALSE(read_as_nomad("nomad_compat = true\ntls { verify_https_client = true }").plain_http());
}

TEST(NomadCompat, LetsNoStrangerOfTheNetworkInUnasked) {
  const Config config = read_as_nomad("nomad_compat = true\nbind_addr = \"0.0.0.0\"");
  EXPECT_TRUE(config.plain_http() && config.acl_enabled() && !config.network_bootstrap());
  const auto lines = told(config);
  EXPECT_THAT(lines, Contains(HasSubstr("LOUD the HTTP API is PLAIN and listens at 0.0.0.0")));
  EXPECT_THAT(lines, Contains(HasSubstr("still need a token")));
  EXPECT_THAT(lines, Contains(HasSubstr("still made by root")));

  const Config open = read_as_nomad("nomad_compat = true\nbind_addr = \"0.0.0.0\"\nacl { enabled = false }");
  EXPECT_FALSE(open.acl_enabled());
  EXPECT_THAT(told(open), Contains(HasSubstr("LOUD requests need NO TOKEN")));
  const Config race =
      read_as_nomad("nomad_compat = true\naddresses { http = \"10.0.0.1\" }\nacl { network_bootstrap = true }");
  EXPECT_TRUE(race.network_bootstrap());
  EXPECT_THAT(told(race), Contains(HasSubstr("LOUD whoever ASKS FIRST")));
}

TEST(NomadCompat, IsOnByTheNameNomadOnThisMachineAlone) {
  for (const auto by : {CompatBy::dev_as_nomad, CompatBy::environment}) {
    EXPECT_TRUE(read_as_nomad("", by).plain_http());
    EXPECT_FALSE(read_as_nomad("nomad_compat = false", by).nomad_compat_on());
    EXPECT_THAT(told(read_as_nomad("nomad_compat = false", by)), IsEmpty());
    const Config outside = read_as_nomad("bind_addr = \"0.0.0.0\"", by);
    EXPECT_FALSE(outside.nomad_compat_on() || outside.plain_http());
    EXPECT_TRUE(outside.acl_enabled());
    EXPECT_THAT(told(outside), Contains(HasSubstr("LOUD off, although")));
    EXPECT_TRUE(read_as_nomad("nomad_compat = true\nbind_addr = \"0.0.0.0\"", by).nomad_compat_on());
  }
}

TEST(NomadCompat, IsAskedForByHowTheProgramIsCalled) {
  EXPECT_EQ(compat_by_call(false, true, "true"), CompatBy::nothing) << "underway agent -dev";
  EXPECT_EQ(compat_by_call(true, true, nullptr), CompatBy::dev_as_nomad);
  EXPECT_EQ(compat_by_call(true, false, nullptr), CompatBy::nothing) << "a site's nomad agent -config";
  EXPECT_EQ(compat_by_call(true, false, ""), CompatBy::nothing);
  EXPECT_EQ(compat_by_call(true, false, "True"), CompatBy::environment);
  EXPECT_EQ(compat_by_call(true, true, "0"), CompatBy::nothing);
}

TEST(NomadCompat, HasNothingToGiveUpWithoutAServer) {
  Config config = read_as_nomad("nomad_compat = true\nserver { enabled = false }\nclient { enabled = true }");
  ASSERT_EQ(told(config).size(), 1u);
  EXPECT_THAT(told(config)[0], HasSubstr("without effect"));
  config.nomad_compat.reset();
  config.compat_by = CompatBy::environment;
  EXPECT_THAT(told(config), IsEmpty());
}

TEST(NomadCompat, KnowsTwoProviders) {
  EXPECT_THAT(problems(read_as_nomad("server { service_provider = \"etcd\" }")),
              Contains("server.service_provider 'etcd' is neither nomad nor consul"));
}

}  // namespace
}  // namespace underway::agent
