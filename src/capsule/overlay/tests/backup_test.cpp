#include "overlay/backup/backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.hpp"
#include "overlay/backup/detail/restic.hpp"
#include "places.hpp"

namespace underway::overlay {
namespace {

TEST(Backups, NeedAPasswordThatOnlyWeMayRead) {
  const Places places;
  Repository repository{.url = places / "repository"};
  EXPECT_EQ(problems(repository).size(), 1U);
  repository.password_file = places / "password";
  EXPECT_EQ(problems(repository).size(), 1U);
  os::write_file(repository.password_file, "secret", 0644);
  ASSERT_EQ(problems(repository).size(), 1U);
  EXPECT_NE(problems(repository)[0].find("(mode 0644): it must be 0600"), std::string::npos) << problems(repository)[0];
  ASSERT_EQ(::chmod(repository.password_file.c_str(), 0600), 0);
  EXPECT_TRUE(problems(repository).empty());
  repository.url = "backup";
  EXPECT_EQ(problems(repository).size(), 1U);
  EXPECT_THROW(list_backups(repository, "c"), Error);
}

TEST(Backups, TellWhatResticMeans) {
  struct Case {
    const char* words;
    Code code;
    const char* why;
  };
  const std::vector<Case> cases = {
      {"Fatal: wrong password or no key found\n", Code::denied, "wrong password or no key found"},
      {"Fatal: unable to open config file: Stat: stat /r/config: no such file or directory\n"
       "Is there a repository at the following location?\n/r\n",
       Code::not_found, "/r"},
      {"Save(<data/1>) returned error: write: no space left on device\nFatal: write: no space left on device",
       Code::exhausted, "write: no space left on device"},
      {"Fatal: unable to create lock in backend: repository is already locked by PID 7", Code::conflict, "PID 7"},
      {"Fatal: Get \"https://h/\": dial tcp 10.0.0.1:9000: connect: connection refused", Code::unavailable, "dial tcp"},
      {"something else", Code::internal, "something else"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.words);
    const auto error = restic_error({.url = "/r"}, "backup", c.words);
    EXPECT_EQ(error.code(), c.code);
    EXPECT_NE(error.text().find(c.why), std::string::npos) << error.text();
    EXPECT_FALSE(error.advice().empty());
  }
}

TEST(Backups, KeepSecretsOutOfErrors) {
  const Repository repository{.url = "s3:https://key:very-secret@host/bucket",
                              .environment = {{"AWS_SECRET_ACCESS_KEY", "0123456789abcdef"}}};
  const auto error = restic_error(repository, "backup", "signature of 0123456789abcdef does not match");
  EXPECT_EQ(error.text().find("0123456789abcdef"), std::string::npos) << error.text();
  EXPECT_EQ(error.text().find("very-secret"), std::string::npos) << error.text();
  EXPECT_NE(error.text().find("s3:https://…@host/bucket"), std::string::npos) << error.text();
}

TEST(Backups, AreReadAsResticListsThem) {
  const auto list = parse_backups(R"([{"time":"2026-11-21T23:41:03Z","id":"b2","hostname":"default/c",
    "tags":["image=sha256:1","snapshot=20261121-234103","digest=ab"]},
    {"time":"2026-11-20T23:41:03.5+01:00","id":"a1","hostname":"default/c","tags":null}])");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].id, "a1");
  EXPECT_EQ(list[1].image, "sha256:1");
  EXPECT_EQ(list[1].snapshot, "20261121-234103");
  EXPECT_EQ(backup_at(list, *parse_time("2026-11-21T00:00:00Z")).id, "a1");
  EXPECT_EQ(backup_at(list, *parse_time("2026-11-21T23:41:03Z")).id, "b2");
  EXPECT_THROW(backup_at(list, *parse_time("2026-11-20T00:00:00Z")), Error);
  EXPECT_TRUE(parse_backups("null").empty());
  for (const auto* text : {"", "{}", "[1]", R"([{"id":"x"}])", R"([{"time":"yesterday","id":"x"}])"})
    EXPECT_THROW(parse_backups(text), Error) << text;
}

TEST(Drills, TellWhatIsWrongAndLeaveNothing) {
  const Places places;
  const auto restore = [](const std::string& upper) {
    os::make_directories(upper);
    os::write_file(upper + "/x", "1");
  };
  const auto fine = run_drill(places / "s", restore, [](const std::string& upper) {
    EXPECT_EQ(os::read_file(upper + "/x"), "1");
    return std::vector<std::string>{};
  });
  EXPECT_TRUE(fine.problems.empty());
  const auto bad = run_drill(places / "s", restore, [](const std::string&) -> std::vector<std::string> {
    throw Error(Code::timeout, "slurmctld does not answer");
  });
  EXPECT_EQ(bad.problems, std::vector<std::string>{"slurmctld does not answer"});
  EXPECT_FALSE(os::exists(places / "s"));
}

}  // namespace
}  // namespace underway::overlay
