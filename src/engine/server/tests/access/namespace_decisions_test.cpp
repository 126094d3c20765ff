#include "server/access/namespace_decisions.hpp"

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::Namespace;

template <class Call>
Error namespace_refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::internal, "nothing was refused");
}

class NamespacesTest : public ::testing::Test {
 protected:
  void put(const Namespace& ns) { desk.run(PutNamespace{ns}); }
  void remove(const std::string& name) { desk.run(DeleteNamespace{name}); }
  /// Outside of `agent -dev`.
  Context strict() {
    Context context = desk.context();
    context.root_by_raw_exec = false;
    return context;
  }
  static Namespace named(const std::string& name) {
    Namespace ns;
    ns.name = name;
    return ns;
  }
  Desk desk;
};

TEST_F(NamespacesTest, DefaultAlwaysIs) {
  ASSERT_EQ(namespaces(desk.tables).size(), 1u);
  EXPECT_EQ(namespaces(desk.tables)[0].name, "default");
  put(named("a"));
  put(named("z"));
  std::vector<std::string> names;
  for (const auto& ns : namespaces(desk.tables)) names.push_back(ns.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "default", "z"}));
  EXPECT_EQ(namespace_refusal([&] { remove("default"); }).code(), Code::conflict);
}

TEST_F(NamespacesTest, AJobNeedsItsNamespaceToExist) {
  model::Job job = make_job("web");
  job.ns = "team";
  const Error error = namespace_refusal([&] { desk.register_job(job); });
  EXPECT_EQ(error.code(), Code::invalid);
  EXPECT_EQ(error.message(), "job \"web\" is in nonexistent namespace \"team\"");
  put(named("team"));
  desk.register_job(job);
  EXPECT_TRUE(desk.tables.find_job("team", "web"));
}

TEST_F(NamespacesTest, OneWithJobsThatAreNotOverStays) {
  put(named("team"));
  model::Job job = make_job("web");
  job.ns = "team";
  desk.register_job(job);
  const Error error = namespace_refusal([&] { remove("team"); });
  EXPECT_EQ(error.code(), Code::conflict);
  EXPECT_EQ(error.reasons(), std::vector<std::string>{"web"});
  desk.run(DeregisterJob{"team", "web", true});
  remove("team");
  EXPECT_FALSE(find_namespace(desk.tables, "team"));
  EXPECT_EQ(namespace_refusal([&] { remove("team"); }).code(), Code::not_found);
}

TEST_F(NamespacesTest, RawExecAsRootIsRefusedUntilTheNamespaceAllowsIt) {
  const auto attempt = [&] { return decide(desk.tables, RegisterJob{make_job("web"), {}, {}}, strict()); };
  const Error error = namespace_refusal(attempt);
  EXPECT_EQ(error.code(), Code::denied);
  EXPECT_EQ(error.message(), "namespace 'default' does not allow job 'web'");
  ASSERT_EQ(error.reasons().size(), 1u);
  EXPECT_NE(error.reasons()[0].find("underway namespace apply -raw-exec-as-root default"), std::string::npos);
  Namespace trusting = named("default");
  trusting.raw_exec_as_root = true;
  put(trusting);
  EXPECT_FALSE(attempt().changes.empty());
}

TEST_F(NamespacesTest, AClusterBringsWhatItsJobsNeed) {
  ApplyCluster apply;
  apply.cluster.name = "hpc";
  apply.cluster.networks = {{"n", "10.77.0.0/24", false}};
  apply.cluster.pools.resize(1);
  apply.cluster.pools[0].name = "p";
  apply.jobs.push_back({make_job("munge"), {}, {}});
  const auto attempt = [&] { return decide(desk.tables, apply, strict()); };
  EXPECT_EQ(namespace_refusal(attempt).code(), Code::denied);
  apply.namespaces = {named("default")};
  apply.namespaces[0].raw_exec_as_root = true;
  desk.commit(attempt().changes);
  EXPECT_TRUE(find_namespace(desk.tables, "default")->raw_exec_as_root);
  const auto again = attempt().changes;
  EXPECT_TRUE(std::none_of(again.begin(), again.end(), [](const auto& change) {
    return std::holds_alternative<tables::PutNamespace>(change);
  })) << "what is as declared is not written again";
}

TEST_F(NamespacesTest, AnInvalidOneIsRefusedWithAllItsProblems) {
  Namespace ns = named("no spaces");
  ns.description = std::string(500, 'x');
  const Error error = namespace_refusal([&] { put(ns); });
  EXPECT_EQ(error.code(), Code::invalid);
  EXPECT_EQ(error.reasons().size(), 2u);
}

}  // namespace
}  // namespace underway::server::testing
