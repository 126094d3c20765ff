#include "image/manifest.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/json/json.hpp"

namespace underway::image {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Service service(std::string name, std::vector<std::string> needs = {}) {
  return {.name = std::move(name), .command = {"/bin/true"}, .depends_on = std::move(needs)};
}

Manifest good() {
  Manifest manifest;
  manifest.name = "slurm-services";
  manifest.version = "22.05.8-4+deb12u3";
  manifest.services = {service("munge"), service("slurmctld", {"munge"})};
  manifest.steps = {{.moment = Moment::before_stop, .command = {"/usr/bin/scontrol", "ping"}}};
  manifest.writable = {"/var/lib/slurm", "/"};
  return manifest;
}

TEST(Manifest, TellsAllProblemsAtOnce) {
  EXPECT_THAT(problems(good()), IsEmpty());
  Manifest bad = good();
  bad.name = "Slurm";
  bad.version = "1:2";
  bad.services.push_back(service("munge"));
  bad.services.push_back({.name = "x", .command = {"true"}, .depends_on = {"none"}});
  bad.services.push_back({.name = "y"});
  bad.steps[0].command.clear();
  bad.writable = {"var", "/a/../b", "/a//b"};
  const auto found = problems(bad);
  EXPECT_THAT(found, Contains(HasSubstr("'Slurm' is no name")));
  EXPECT_THAT(found, Contains(HasSubstr("'1:2' is no version")));
  EXPECT_THAT(found, Contains(HasSubstr("'munge' is there more than once")));
  EXPECT_THAT(found, Contains(HasSubstr("'true' is no absolute path")));
  EXPECT_THAT(found, Contains(HasSubstr("depends on 'none'")));
  EXPECT_THAT(found, Contains(HasSubstr("service 'y' has no command")));
  EXPECT_THAT(found, Contains(HasSubstr("step 'before_stop' has no command")));
  EXPECT_EQ(found.size(), 10U);
}

TEST(Manifest, NamesTheCircleOfServices) {
  EXPECT_THAT(problems(std::vector{service("a", {"b"}), service("b", {"c"}), service("c", {"b"})}),
              ElementsAre(HasSubstr("b → c → b")));
}

TEST(Manifest, TravelsAsJson) {
  const auto manifest = good();
  const auto back = json::decode_text<Manifest>(json::encode(manifest));
  EXPECT_TRUE(describe::equal(manifest, back));
}

TEST(Manifest, HasARootThatFollowsFromItsChunks) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  EXPECT_NE(root_of({a, b}), root_of({b, a}));
  EXPECT_THROW(root_of({"xyz"}), Error);
  EXPECT_THROW(root_of({std::string(64, 'A')}), Error);
}

TEST(Manifest, HasAnIdThatFollowsFromNameAndVersion) {
  EXPECT_EQ(uuid_for("web", "1"), uuid_for("web", "1"));
  EXPECT_NE(uuid_for("web", "1"), uuid_for("web", "2"));
  EXPECT_EQ(uuid_for("web", "1").size(), 36U);
  EXPECT_EQ(uuid_for("web", "1")[14], '8');
}

}  // namespace
}  // namespace underway::image
