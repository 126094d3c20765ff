// What docs/how-to/keep-tickets.md promises, on a real agent: from the command line, as mail and by the API; whatever
// is killed, no ticket is lost, none is opened twice, and nobody says who he is by himself.
#include <gmock/gmock.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The value of a member of text in JSON that is printed one member a line.
std::string member(const std::string& json, const std::string& name) {
  const std::string mark = "\"" + name + "\": \"";
  const auto at = json.find(mark);
  if (at == std::string::npos) return {};
  const auto begin = at + mark.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

class TicketsTest : public testing::Test {
 protected:
  std::string done(std::vector<std::string> arguments, const std::string& input = {}) const {
    arguments.insert(arguments.begin(), "ticket");
    auto command = machine_.command(std::move(arguments));
    command.input = input;
    const auto finished = run(command);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out;
  }
  std::string refused(std::vector<std::string> arguments, const std::string& input = {}) const {
    arguments.insert(arguments.begin(), "ticket");
    auto command = machine_.command(std::move(arguments));
    command.input = input;
    const auto finished = run(command);
    EXPECT_NE(finished.exit_code, 0) << finished.out;
    return finished.err;
  }
  std::string show(const std::string& number) const { return done({"show", number}); }
  std::string gate_fails() const {
    return done({"open", "-kind", "gate", "-key", "gate/smoke/2026.1", "-blocks", "release:2026.1", "-body",
                 "exit code 1", "gate smoke is red"});
  }

  Machine machine_;
};

TEST_F(TicketsTest, AreOpenedOnceCountedAndKeptWhateverIsKilled) {
  EXPECT_EQ(gate_fails(), "Ticket 1 is opened: gate smoke is red (high)\n");
  for (int i = 0; i < 3; ++i) gate_fails();
  machine_.kill_agent();
  machine_.start();
  EXPECT_EQ(gate_fails(), "Ticket 1 is open already, and was told 5 times\n");
  done({"assign", "1", "ada"});
  done({"link", "-suspect", "package:openmpi", "-about", "log:/var/log/gates/17", "1"});
  done({"comment", "1", "the switch of rack 3 is off"});
  const auto shown = show("1");
  for (const char* what : {"blocks release 2026.1 (40)", "package:openmpi", "log:/var/log/gates/17",
                           "root@unix  commented", "the switch of rack 3 is off", "5 times", "Assignee", "ada"})
    EXPECT_THAT(shown, HasSubstr(what));
  EXPECT_THAT(done({"list", "-release", "2026.1"}), HasSubstr("gate smoke is red"));
  EXPECT_THAT(done({"list", "-ageing"}), HasSubstr("gate"));
  done({"close", "-reason", "it was the switch", "1"});
  EXPECT_THAT(done({"list", "-all"}), HasSubstr("closed"));
  EXPECT_EQ(gate_fails(), "Ticket 2 is opened: gate smoke is red (high)\n");
  EXPECT_THAT(refused({"reopen", "-reason", "x", "1"}), HasSubstr("ticket 2 tells of 'gate/smoke/2026.1' by now"));
}

TEST_F(TicketsTest, ThatSurprisedAreClosedWithATestOnly) {
  done({"open", "-kind", "outage", "the second switch had the first one's power"});
  const auto why = refused({"close", "-reason", "wired anew", "1"});
  EXPECT_THAT(why, HasSubstr("a test keeps it from coming back"));
  EXPECT_THAT(why, HasSubstr("underway ticket close -test NAME 1"));
  done({"open", "-kind", "gate", "-blocks", "release:2026.1", "smoke is red"});
  done({"close", "-duplicate-of", "2", "1"});
  EXPECT_THAT(refused({"close", "-reason", "x", "2"}), HasSubstr("with a test only"));
  done({"close", "-test", "power_feeds_are_apart", "2"});
  EXPECT_THAT(show("2"), HasSubstr("with the test power_feeds_are_apart"));
}

TEST_F(TicketsTest, ComeAsMail) {
  const std::string mail =
      "From: Ada <ada@example.org>\r\nSubject: =?utf-8?q?mpirun_h=C3=A4ngt?=\r\nMessage-ID: "
      "<a1@example.org>\r\n\r\nseit Montag\r\n";
  EXPECT_THAT(done({"open", "-file", "-"}, mail), HasSubstr("Ticket 1 is opened: mpirun hängt"));
  EXPECT_EQ(done({"open", "-file", "-"}, mail), "It is with ticket 1: mpirun hängt\n") << "the same message";
  done({"open", "-file", "-"}, "Subject: Re: mpirun\nIn-Reply-To: <a1@example.org>\n\nit answers it\n");
  done({"open", "-file", "-"}, "Subject: Re: [#1] mpirun\n\nit names it\n");
  done({"comment", "1", "-file", "-"}, "Subject: whatever\n\nit is handed in with it\n");
  const auto shown = show("1");
  for (const char* what : {"it answers it", "it names it", "it is handed in with it", "nobody has checked it"})
    EXPECT_THAT(shown, HasSubstr(what));
  EXPECT_THAT(shown, Not(HasSubstr("Reporter      = Ada")));
  EXPECT_THAT(refused({"open", "-file", "-"}, "Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"),
              HasSubstr("send it as plain text in UTF-8, without attachments"));
  EXPECT_THAT(refused({"open", "-file", "-"}, "hello"), HasSubstr("line 1 of the message is no header"));
}

TEST_F(TicketsTest, OfAUserAreItsOwn) {
  const auto root = [&](std::vector<std::string> arguments) {
    const auto finished = machine_.underway(std::move(arguments));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out;
  };
  write_text(machine_.directory() + "/user.hcl", "namespace \"default\" {\n  policy = \"read\"\n}\n");
  root({"acl", "policy", "apply", "user", machine_.directory() + "/user.hcl"});
  const auto secret = member(root({"acl", "token", "create", "-json", "-name", "anna", "-policy", "user"}), "SecretID");
  const auto anna = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ticket");
    auto command = machine_.command(std::move(arguments));
    command.env["NOMAD_TOKEN"] = secret;
    return run(command);
  };
  done({"open", "of root"});
  EXPECT_EQ(anna({"open", "-about", "node:c1", "mpirun hangs"}).exit_code, 0);
  EXPECT_THAT(show("2"), HasSubstr("anna"));
  EXPECT_THAT(anna({"show", "2"}).out, HasSubstr("mpirun hangs"));
  EXPECT_THAT(anna({"show", "1"}).err, HasSubstr("there is no ticket 1"));
  EXPECT_THAT(anna({"list"}).out, Not(HasSubstr("of root")));
  EXPECT_THAT(anna({"open", "-kind", "gate", "x"}).err, HasSubstr("operator:write"));
  EXPECT_THAT(anna({"open", "-blocks", "release:1", "x"}).err, HasSubstr("operator:write"));
  EXPECT_THAT(anna({"assign", "2", "bob"}).err, HasSubstr("operator:write"));
  EXPECT_EQ(anna({"close", "-reason", "it works", "2"}).exit_code, 0);
}

}  // namespace
}  // namespace underway::harness
