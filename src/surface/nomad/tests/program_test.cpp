#include "nomad/program.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "nomad/table.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

struct Ran {
  int code = 0;
  std::string out, err;
};

Ran ran(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran done;
  done.code = run_program(words);
  done.out = testing::internal::GetCapturedStdout();
  done.err = testing::internal::GetCapturedStderr();
  return done;
}

TEST(Name, IsTheLastPartOfWhatWasCalled) {
  EXPECT_TRUE(is_called("nomad"));
  EXPECT_TRUE(is_called("/usr/lib/underway/bin/nomad"));
  EXPECT_FALSE(is_called("underway"));
  EXPECT_FALSE(is_called("/opt/nomad/underway"));
  EXPECT_FALSE(is_called("nomad-old"));
}

TEST(Commands, AreUniqueAndEveryAliasLeadsToOne) {
  std::set<std::string_view> names;
  for (const auto& command : commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_TRUE(command.run) << command.name;
    std::set<std::string_view> flags;
    for (const auto& flag : cli::flags_of(command)) {
      EXPECT_TRUE(flags.insert(flag.name).second) << command.name << " -" << flag.name;
      EXPECT_FALSE(flag.doc.empty()) << command.name << " -" << flag.name;
    }
  }
  for (const auto& alias : aliases()) EXPECT_NE(find_command(alias.name), nullptr) << alias.name;
}

TEST(ExitCodes, AreNomads) {
  EXPECT_EQ(ran({}).code, 127);
  EXPECT_EQ(ran({"jobb", "status"}).code, 127);
  EXPECT_EQ(ran({"-h"}).code, 0);
  EXPECT_EQ(ran({"-version"}).code, 0);
  EXPECT_EQ(ran({"job"}).code, 1) << "a noun alone says which verbs there are";
  EXPECT_EQ(ran({"job", "-h"}).code, 0);
  EXPECT_EQ(ran({"job", "status", "-nonsense"}).code, 1);
  EXPECT_EQ(ran({"job", "status", "a", "b"}).code, 1);
  EXPECT_EQ(ran({"job", "status", "-address=unix:///no/such/socket"}).code, 1) << "unreachable is 1, not 3";
  EXPECT_EQ(ran({"run", "/no/such/file.hcl"}).code, 1);
  EXPECT_EQ(ran({"plan", "/no/such/file.hcl"}).code, 255);
  EXPECT_EQ(ran({"job", "plan", "-nonsense", "x"}).code, 255);
}

TEST(Numbers, AreWholeAndRefusedInNomadsWords) {
  for (const auto& command : commands()) {
    for (const auto& flag : cli::flags_of(command)) {
      if (!flag.number || is_refused(command.summary)) continue;
      auto words = split(command.name, ' ');
      words.push_back(fmt::format("-{}=0abc", flag.name));
      words.insert(words.end(), command.least, "x");
      const auto refused = ran(words);
      EXPECT_NE(refused.code, 0) << command.name;
      EXPECT_NE(refused.err.find(flag.name == "check-index"
                                     ? "Error parsing check-index value \"0abc\": strconv.ParseUint: parsing \"0abc\": "
                                       "invalid syntax"
                                     : fmt::format("invalid value \"0abc\" for flag -{}: parse error", flag.name)),
                std::string::npos)
          << command.name << ": " << refused.err;
    }
  }
  const auto large = ran({"job", "run", "-check-index=99999999999999999999", "x"});
  EXPECT_EQ(large.code, 1);
  EXPECT_NE(large.err.find("strconv.ParseUint: parsing \"99999999999999999999\": value out of range"),
            std::string::npos);
}

TEST(Switches, AreReadAsGoReadsThem) {
  const auto* exec = find_command("alloc exec");
  ASSERT_NE(exec, nullptr);
  const auto session = cli::parse(*exec, {"-i", "-t", "-job", "web", "/bin/sh", "-t"});
  EXPECT_TRUE(session.has("t") && session.has("i") && session.has("job"));
  EXPECT_EQ(session.positional(), (std::vector<std::string>{"web", "/bin/sh", "-t"}));
  const auto plan = cli::parse(*find_command("plan"), {"-diff=false", "-hcl2-strict", "x.hcl"});
  EXPECT_FALSE(plan.has("diff"));
  EXPECT_EQ(plan.positional(), std::vector<std::string>{"x.hcl"});
}

TEST(Help, IsOfTheCommandThatTheAliasStandsFor) {
  EXPECT_TRUE(ran({"run", "-h"}).out.starts_with("Usage: nomad job run [options] "));
  const auto verbs = ran({"job", "-h"}).out;
  EXPECT_NE(verbs.find("job status"), std::string::npos);
  EXPECT_EQ(verbs.find("underway"), std::string::npos) << "the other name is not the one that was called";
}

/// Clients look for "Nomad v1.2.3" at the beginning, or for the first version in all of it.
TEST(Version, IsNomadsFirstAndThenOurOwn) {
  const auto text = ran({"version"}).out;
  EXPECT_TRUE(text.starts_with("Nomad v1.6.5\nUnderway ")) << text;
  EXPECT_EQ(text.find(" v", text.find('\n')), std::string::npos) << "a second version would be found";
  for (const char* word : {"-v", "-version", "--version"}) EXPECT_EQ(ran({word}).out, text) << word;
}

TEST(Texts, AreQuotedAndTimedAsGoDoes) {
  EXPECT_EQ(go_quote("a \"b\" \\ \n\x01"), R"("a \"b\" \\ \n\x01")");
  EXPECT_EQ(go_duration(0), "0s");
  EXPECT_EQ(go_duration(65), "1m5s");
  EXPECT_EQ(go_duration(3605), "1h0m5s");
  EXPECT_EQ(columns_text({{"ID", "1"}, {"Version", ""}}), "ID       1\nVersion  <none>\n");
}

TEST(Refusals, SayWhyWhateverStandsBehindThem) {
  const auto licence = ran({"license", "get", "-nonsense", "x"});
  EXPECT_EQ(licence.code, 1);
  EXPECT_NE(licence.err.find("there is no licence"), std::string::npos) << licence.err;
  const auto flag = ran({"job", "run", "-vault-namespace", "x", "/no/such/file.hcl"});
  EXPECT_EQ(flag.code, 1);
  EXPECT_NE(flag.err.find("there is no Vault here"), std::string::npos) << flag.err;
}

TEST(Advice, IsGivenInTheNameThatWasCalled) {
  EXPECT_NE(ran({"alloc", "checks"}).err.find("see `nomad alloc checks -h`"), std::string::npos);
}

TEST(Directories, OfCertificatesThatHoldNoneAreAnError) {
  const auto empty = std::filesystem::temp_directory_path() / fmt::format("underway-no-certificates-{}", ::getpid());
  std::filesystem::create_directory(empty);
  const auto done = ran({"job", "status", "-ca-path", empty, "-address", "https://127.0.0.1:1"});
  std::filesystem::remove(empty);
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.err.find("no certificate is in the directory"), std::string::npos) << done.err;
}

}  // namespace
}  // namespace underway::nomad
