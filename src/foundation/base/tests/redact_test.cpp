#include "base/redact.hpp"

#include <gtest/gtest.h>

namespace underway {
namespace {

using Words = std::vector<std::string>;

TEST(Redact, TakesThePasswordOutOfAUrl) {
  struct Case {
    const char *url, *named, *hidden, *absent;
  };
  const std::vector<Case> cases = {
      {"http://bob:x@h/", "http://bob:…@h/", "http://…@h/", "http://h/"},
      {"s3:https://key:secret@host/bucket", "s3:https://key:…@host/bucket", "s3:https://…@host/bucket",
       "s3:https://host/bucket"},
      {"https://anna@git:8443/x?y", "https://anna@git:8443/x?y", "https://…@git:8443/x?y", "https://git:8443/x?y"},
      {"https://a:p@ss@h", "https://a:…@h", "https://…@h", "https://h"},
      {"https://a:p/s?s@h/x", "https://a:…@h/x", "https://…@h/x", "https://h/x"},
      {"https://h:80/x@y", "https://h:80/x@y", "https://h:80/x@y", "https://h:80/x@y"},
      {"https://[::1]/x@y", "https://[::1]/x@y", "https://[::1]/x@y", "https://[::1]/x@y"},
      {"https://h/x@y:1", "https://h/x@y:1", "https://h/x@y:1", "https://h/x@y:1"},
      {"jobs/web.hcl", "jobs/web.hcl", "jobs/web.hcl", "jobs/web.hcl"},
      {"bob:x@h", "bob:x@h", "bob:x@h", "bob:x@h"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.url);
    EXPECT_EQ(redact_url(c.url, UrlUser::named), c.named);
    EXPECT_EQ(redact_url(c.url, UrlUser::hidden), c.hidden);
    EXPECT_EQ(redact_url(c.url, UrlUser::absent), c.absent);
  }
}

TEST(Redact, TakesSecretsOutOfACommandLine) {
  EXPECT_EQ(redact_command({"x", "--password", "hunter2", "-v"}), (Words{"x", "--password", "…", "-v"}));
  EXPECT_EQ(redact_command({"x", "--api-token=abc", "db_password=1"}), (Words{"x", "--api-token=…", "db_password=…"}));
  EXPECT_EQ(redact_command({"/usr/bin/mysql", "-ubob", "-phunter2"}), (Words{"/usr/bin/mysql", "-ubob", "-p…"}));
  EXPECT_EQ(redact_command({"curl", "http://bob:x@h/"}), (Words{"curl", "http://bob:…@h/"}));
  EXPECT_EQ(redact_command({"munged", "--password-file", "/etc/x"}), (Words{"munged", "--password-file", "/etc/x"}));
  EXPECT_TRUE(is_redacted("-p…"));
  EXPECT_FALSE(is_redacted("-p"));
}

TEST(Redact, TakesKnownValuesOutOfAnyText) {
  const std::vector<SecretValue> secrets = {{"hunter2", "${secret.db.password}"}, {"AKIA12"}, {"abc"}, {""}};
  EXPECT_EQ(redact_values("hunter2hunter2 of AKIA12, abc", secrets, 4),
            "${secret.db.password}${secret.db.password} of …, abc");
  EXPECT_EQ(redact_values("an abc", secrets, 0), "an …");
  EXPECT_EQ(redact_values("xx", std::vector<SecretValue>{{"x", "xx"}}, 1), "xxxx") << "what is shown is not looked at";
  const std::vector<SecretValue> alike = {{"swordfish", "A"}, {"swordfish2026", "B"}};
  EXPECT_EQ(redact_values("swordfish2026 swordfish", alike, 4), "B A") << "nothing is left of the longer one";
}

}  // namespace
}  // namespace underway
