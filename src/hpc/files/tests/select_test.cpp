#include "files/masters/select.hpp"

namespace underway::files {
namespace {

model::FileDeclaration selected_file(const std::string& name, const std::string& path = {}) {
  model::FileDeclaration out;
  out.name = name;
  out.path = path;
  out.cluster = "hpc";
  out.content_id = "c";
  return out;
}

const Target kNode{"id1", "c1", "hpc", "compute", "thin", ""};

std::string chosen(const std::vector<model::FileDeclaration>& declared, const Target& target) {
  std::string out;
  for (const auto* selected : select(declared, target).files) out += selected->name + ";";
  return out;
}

TEST(Select, WithoutTargetsEveryNodeOfTheClusterGetsIt) {
  Target elsewhere = kNode, capsule = kNode;
  elsewhere.cluster = "other";
  capsule.capsule = "slurm";
  EXPECT_EQ(closeness(selected_file("/a"), kNode), 1);
  EXPECT_EQ(closeness(selected_file("/a"), elsewhere), 0);
  EXPECT_EQ(closeness(selected_file("/a"), capsule), 0) << "capsules are asked for by name";
}

TEST(Select, TargetsNamePoolsClassesNodesAndCapsules) {
  auto file = selected_file("/a");
  file.targets.pools = {"comp*"};
  EXPECT_EQ(closeness(file, kNode), 2);
  file.targets.classes = {"thin"};
  EXPECT_EQ(closeness(file, kNode), 3);
  file.targets.nodes = {"c1"};
  EXPECT_EQ(closeness(file, kNode), 4);
  file.targets = {.nodes = {"c2"}};
  EXPECT_EQ(closeness(file, kNode), 0);
  file.targets = {.capsules = {"slurm*"}};
  EXPECT_EQ(closeness(file, kNode), 0);
  Target capsule = kNode;
  capsule.capsule = "slurm-services";
  EXPECT_EQ(closeness(file, capsule), 4);
}

TEST(Select, OfOnePathTheClosestCounts) {
  auto all = selected_file("motd", "/etc/motd"), pool = selected_file("motd-compute", "/etc/motd");
  pool.targets.pools = {"compute"};
  EXPECT_EQ(chosen({all, pool, selected_file("/etc/a")}, kNode), "/etc/a;motd-compute;");
  Target login = kNode;
  login.pool = "login";
  EXPECT_EQ(chosen({all, pool}, login), "motd;");
}

TEST(Select, ATieIsAProblemAndTheSameOneWinsWhateverTheirOrder) {
  const auto a = selected_file("a", "/etc/motd"), b = selected_file("b", "/etc/motd");
  EXPECT_EQ(chosen({a, b}, kNode), "a;");
  EXPECT_EQ(chosen({b, a}, kNode), "a;");
  ASSERT_EQ(select({b, a}, kNode).problems.size(), 1);
  EXPECT_EQ(select({b, a}, kNode).problems[0],
            "'a' and 'b' both say what '/etc/motd' is, and name the target as closely; 'a' counts");
}

TEST(Select, PartsAreForNobody) {
  auto part = selected_file("banner");
  part.type = model::FileType::part;
  EXPECT_EQ(chosen({part}, kNode), "");
}

}  // namespace
}  // namespace underway::files
