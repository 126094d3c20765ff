#include "closure/closure.hpp"

#include <gmock/gmock.h>

namespace underway::closure {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// An index, of lines "name version [field: value]…".
class Index {
 public:
  Index& add(const std::string& name, const std::string& version, const std::string& fields = {}) {
    text_ += fmt::format(
        "Package: {0}\nVersion: {1}\nArchitecture: amd64\nFilename: pool/{0}_{2}_amd64.deb\nSize: 1\nSHA256: "
        "{3:064x}\n{4}\n",
        name, version, version.substr(version.find(':') + 1), ++count_, fields);
    return *this;
  }
  package::PackageList list() const {
    return package::PackageList::of_packages_index(std::make_shared<const std::string>(text_));
  }

 private:
  std::string text_;
  int count_ = 0;
};

package::PackageList only(const package::PackageList& list, const std::vector<std::string>& names) {
  return list.filter([&](const auto& it) { return std::find(names.begin(), names.end(), it.name) != names.end(); });
}
package::PackageList without(const package::PackageList& list, const std::string& name) {
  return list.filter([&](const auto& it) { return it.name != name; });
}
std::vector<std::string> names(const package::PackageList& list) {
  std::vector<std::string> out;
  for (const auto& each : list.packages()) out.push_back(each.name + "=" + each.version);
  return out;
}
std::vector<std::string> told(const std::vector<Broken>& all) {
  std::vector<std::string> out;
  for (const auto& each : all) out.push_back(each.package + " needs " + each.needs + ", as of " + each.offered);
  return out;
}

Index site() {
  Index index;
  index.add("slurmd", "22.05.8-4", "Depends: libmunge2, libc6 (>= 2.34), slurm-wlm-basic-plugins (= 22.05.8-4)\n")
      .add("slurm-wlm-basic-plugins", "22.05.8-4", "Depends: libc6\nRecommends: libhwloc15\n")
      .add("libmunge2", "0.5.15-2", "Pre-Depends: libc6 (>= 2.33)\n")
      .add("libc6", "2.36-9", "Depends: libgcc-s1\n")
      .add("libc6", "2.31-1")
      .add("libgcc-s1", "12.2.0-14")
      .add("libhwloc15", "2.9.0-1")
      .add("postfix", "3.7.6-0", "Provides: mail-transport-agent\nDepends: libc6\n")
      .add("exim4", "4.96-15", "Provides: mail-transport-agent\n")
      .add("mailx", "8.1.2", "Depends: default-mta | mail-transport-agent\n")
      .add("versioned", "1", "Depends: offered (>= 2)\n")
      .add("offers", "1", "Provides: offered (= 2)\n")
      .add("offers-none", "1", "Provides: offered\n");
  return index;
}

TEST(WithDependencies, TakesWhatIsNeededAndWhatThatNeeds) {
  const auto all = site().list();
  EXPECT_THAT(names(with_dependencies(all, only(all, {"slurmd"}))),
              ElementsAre("libc6=2.36-9", "libgcc-s1=12.2.0-14", "libhwloc15=2.9.0-1", "libmunge2=0.5.15-2",
                          "slurm-wlm-basic-plugins=22.05.8-4", "slurmd=22.05.8-4"));
  EXPECT_THAT(names(with_dependencies(all, only(all, {"libgcc-s1"}))), ElementsAre("libgcc-s1=12.2.0-14"));
  EXPECT_THAT(names(with_dependencies(all, only(all, {}))), IsEmpty());
}

TEST(WithDependencies, TakesEveryAlternative) {
  const auto all = site().list();
  EXPECT_THAT(names(with_dependencies(all, only(all, {"mailx"}))),
              ElementsAre("exim4=4.96-15", "libc6=2.36-9", "libgcc-s1=12.2.0-14", "mailx=8.1.2", "postfix=3.7.6-0"));
}

TEST(WithDependencies, AVersionIsNotFulfilledByANameThatIsProvidedWithoutOne) {
  const auto all = site().list();
  EXPECT_THAT(names(with_dependencies(all, only(all, {"versioned"}))), ElementsAre("offers=1", "versioned=1"));
}

TEST(WithDependencies, EndsWhereTwoNeedEachOther) {
  const auto all = Index().add("a", "1", "Depends: b\n").add("b", "1", "Depends: a\n").list();
  EXPECT_THAT(names(with_dependencies(all, only(all, {"a"}))), ElementsAre("a=1", "b=1"));
}

TEST(BrokenByLeaving, NamesWhoNeedsWhatIsGoneAndWhoNeedsThose) {
  const auto all = site().list();
  EXPECT_THAT(told(broken_by_leaving(all, all)), IsEmpty());
  EXPECT_THAT(told(broken_by_leaving(without(all, "libmunge2"), all)),
              ElementsAre("slurmd_22.05.8-4_amd64 needs libmunge2, as of libmunge2_0.5.15-2_amd64"));
  EXPECT_THAT(told(broken_by_leaving(without(all, "libgcc-s1"), all)),
              ElementsAre("libc6_2.36-9_amd64 needs libgcc-s1, as of libgcc-s1_12.2.0-14_amd64",
                          "libmunge2_0.5.15-2_amd64 needs libc6 (>= 2.33), as of libc6_2.36-9_amd64",
                          "slurmd_22.05.8-4_amd64 needs libmunge2, as of libmunge2_0.5.15-2_amd64"))
      << "the older libc6 suffices for postfix and for the plugins";
}

TEST(BrokenByLeaving, IsNobodyWhoHasAnotherOrMissedItBefore) {
  const auto all = site().list();
  EXPECT_THAT(told(broken_by_leaving(without(all, "exim4"), all)), IsEmpty()) << "postfix is left";
  EXPECT_THAT(told(broken_by_leaving(without(without(all, "exim4"), "postfix"), all)),
              ElementsAre("mailx_8.1.2_amd64 needs default-mta | mail-transport-agent, as of postfix_3.7.6-0_amd64"));
  const auto lacking = Index().add("a", "1", "Depends: nobody-has-it\n").add("b", "1").list();
  EXPECT_THAT(told(broken_by_leaving(without(lacking, "b"), lacking)), IsEmpty());
}

}  // namespace
}  // namespace underway::closure
