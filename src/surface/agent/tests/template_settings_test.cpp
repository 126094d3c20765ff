// `client { template { compat { … } } }`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/config/config.hpp"
#include "base/error.hpp"

namespace underway::agent {
namespace {

using sources::From;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CompatSettings read_settings(const std::string& compat) {
  const std::string path = ::testing::TempDir() + "/compat.hcl";
  std::ofstream(path) << "client {\n template {\n compat {\n" << compat << "\n}\n}\n}\n";
  return load({path}, {}).client.templates.compat;
}

TEST(TemplateSettings, ReadOurOwnWithoutAWord) {
  const auto settings = source_settings({});
  EXPECT_THAT(problems(CompatSettings{}), IsEmpty());
  EXPECT_EQ(settings.service, From::ours);
  EXPECT_EQ(settings.key, From::ours);
  EXPECT_EQ(settings.secret, From::ours);
  EXPECT_EQ(settings.key_variables, "nomad/jobs/${job}");
}

TEST(TemplateSettings, ReadTheSitesServersWhereTheyAreNamed) {
  const auto compat = read_settings(R"(
    service = "catalogue"
    secret { variables = "vault" }
    consul {
      address = "http://127.0.0.1:8500"
      wait    = "2m"
    }
    vault {
      address          = "https://vault.example:8200"
      token_file       = "/etc/underway/vault-token"
      namespace        = "hpc"
      create_from_role = "tasks"
      allow            = ["secret/data/$${namespace}/*"]
    }
  )");
  EXPECT_THAT(problems(compat), IsEmpty());
  const auto settings = source_settings(compat);
  EXPECT_EQ(settings.service, From::ours);
  EXPECT_EQ(settings.key, From::foreign);
  EXPECT_EQ(settings.secret, From::foreign);
  EXPECT_EQ(settings.consul.wait, std::chrono::minutes(2));
  EXPECT_EQ(settings.vault.ns, "hpc");
  EXPECT_EQ(settings.vault.role, "tasks");
  EXPECT_EQ(settings.vault.jwt_path, "auth/jwt-nomad");
  EXPECT_THAT(settings.vault.allow, ElementsAre("secret/data/${namespace}/*"));
}

TEST(TemplateSettings, WhatCannotBeIsNamed) {
  CompatSettings compat;
  compat.service = "consul";
  compat.key.source = "etcd";
  compat.secret.variables = "";
  compat.vault.address = "http://vault.example:8200";
  compat.vault.token_file = "relative";
  compat.vault.cert_file = "/cert";
  EXPECT_THAT(problems(compat),
              ElementsAre(HasSubstr("service is consul, and client.template.compat.consul.address is missing"),
                          HasSubstr("key.source 'etcd' is none of variables, consul, none"),
                          HasSubstr("secret.variables '' is no path"), HasSubstr("vault.cert_file and"),
                          HasSubstr("'relative' is no absolute path"), HasSubstr("is plain http to another machine")));
}

}  // namespace
}  // namespace underway::agent
