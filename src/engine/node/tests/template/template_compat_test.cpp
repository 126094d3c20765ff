// Consul's and Vault's functions over the catalogue and over variables, with no more than the task may read.
#include "node/template/template_compat.hpp"
#include "node/template/template_renderer.hpp"
#include "tests/fixture.hpp"

#include <gmock/gmock.h>

namespace underway::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Variables by path, of which some may be read.
class KnownCluster final : public ClusterData {
 public:
  std::map<std::string, model::StringMap> variables_by_path;
  std::set<std::string> denied;
  std::map<std::string, std::vector<gotemplate::ForeignInstance>> instances;  ///< "web" and "web|any"
  std::map<gotemplate::ForeignQuery, gotemplate::ForeignReply> of_others;
  bool linked = true;

  Answer<std::optional<gotemplate::Variable>> variable(const TemplateAsker&, const std::string& path,
                                                       const std::string&) override {
    if (denied.contains(path)) throw Error(Code::denied, "may not read " + path);
    if (!linked) return std::nullopt;
    const auto found = variables_by_path.find(path);
    if (found == variables_by_path.end()) return std::optional<gotemplate::Variable>();
    return std::optional(
        gotemplate::Variable{{.namespace_name = "default", .path = path, .modify_index = 7}, found->second});
  }
  Answer<std::vector<gotemplate::VariableMetadata>> variables(const TemplateAsker&, const std::string& prefix,
                                                              const std::string&) override {
    if (!linked) return std::nullopt;
    std::vector<gotemplate::VariableMetadata> out;
    for (const auto& [path, items] : variables_by_path)
      if (path.starts_with(prefix) && !denied.contains(path)) out.push_back({.path = path});
    return out;
  }
  Answer<std::vector<gotemplate::ServiceInstance>> service(const TemplateAsker&, const std::string&) override {
    return std::nullopt;
  }
  Answer<std::vector<gotemplate::ServiceSummary>> services(const TemplateAsker&) override {
    return std::vector<gotemplate::ServiceSummary>{{"web", {"a"}}};
  }
  Answer<std::vector<gotemplate::ForeignInstance>> catalogue(const TemplateAsker&, const std::string& name,
                                                             bool passing) override {
    if (!linked) return std::nullopt;
    return instances[passing ? name : name + "|any"];
  }
  gotemplate::ForeignReply foreign(const TemplateAsker&, const gotemplate::ForeignQuery& query) override {
    return of_others[query];
  }
  std::shared_ptr<void> watch(const TemplateAsker&, const gotemplate::Dependencies&, std::function<void()>) override {
    return nullptr;
  }
};

class Compat : public ::testing::Test {
 protected:
  Rendering render(const std::string& data) {
    model::Task task = make_task("t");
    task.templates = {{.destination = "local/conf", .data = data}};
    const Interpolation interpolation;
    const TemplateInputs inputs{.task = task,
                                .interpolation = interpolation,
                                .allocation_root = directory.path(),
                                .view = {},
                                .owner = {::getuid(), ::getgid()},
                                .asker = {"default", "web", "g", "t", kAllocationId},
                                .cluster = &cluster,
                                .compat = &settings};
    os::make_directories(directory.path() + "/t/local", 0755);
    return render_templates(inputs);
  }
  std::string text(const std::string& data) {
    const auto rendering = render(data);
    if (!rendering.missing.empty()) return "missing: " + rendering.missing[0];
    return os::read_file(directory.path() + "/t/local/conf");
  }

  TemporaryDirectory directory;
  KnownCluster cluster;
  sources::Settings settings;
};

TEST_F(Compat, KeysAreItemsOfTheJobsVariableAndOfThoseBelowIt) {
  cluster.variables_by_path = {{"nomad/jobs/web", {{"app/x", "one"}, {"top", "2"}}},
                               {"nomad/jobs/web/app", {{"y", "three"}, {"x", "deeper"}}},
                               {"nomad/jobs/webshop", {{"x", "not ours"}}}};
  EXPECT_EQ(text("{{ key \"app/x\" }} {{ key \"app/y\" }} {{ key \"top\" }}"), "deeper three 2");
  EXPECT_EQ(text("{{ range tree \"app\" }}{{ .Key }}={{ .Value }} {{ end }}"), "x=deeper y=three ");
  EXPECT_EQ(text("{{ range ls \"/\" }}{{ .Key }} {{ end }}"), "top ");
  EXPECT_EQ(text("{{ range tree \"\" }}{{ .Path }} {{ end }}"), "app/x app/y top ");
  EXPECT_EQ(text("{{ keyExists \"app/z\" }} {{ keyOrDefault \"app/z\" \"d\" }}"), "false d");
}

TEST_F(Compat, WhatTheTaskMayNotReadIsAsIfItWereNotThere) {
  cluster.variables_by_path = {{"nomad/jobs/web", {{"a", "1"}}}, {"nomad/jobs/web/secret", {{"x", "hidden"}}}};
  cluster.denied = {"nomad/jobs/web/secret"};
  EXPECT_EQ(text("{{ keyOrDefault \"secret/x\" \"none\" }}"), "none");
  EXPECT_THAT(text("{{ key \"secret/x\" }}"),
              HasSubstr("missing: kv.block(secret/x): no variable that the task may read has it: write it as item "
                        "'secret/x' of 'nomad/jobs/web'"));
  EXPECT_EQ(text("{{ range tree \"\" }}{{ .Path }} {{ end }}"), "a ");
}

TEST_F(Compat, WhatWasReadIsWatched) {
  cluster.variables_by_path = {{"nomad/jobs/web", {{"a", "1"}}}, {"nomad/jobs/web/app", {{"x", "1"}}}};
  const auto used = render(
                        "{{ key \"app/x\" }}{{ range service \"db\" }}{{ end }}{{ range service \"api|any\" }}{{ end }}"
                        "{{ range services }}{{ end }}")
                        .dependencies;
  EXPECT_THAT(used.variables, ElementsAre("nomad/jobs/web", "nomad/jobs/web/app"));
  EXPECT_THAT(used.variable_prefixes, ElementsAre("nomad/jobs/web"));
  EXPECT_THAT(used.services, ElementsAre("api|any", "db"));
  EXPECT_TRUE(used.services_list);
  EXPECT_TRUE(used.foreign.empty());
  cluster.linked = false;
  EXPECT_EQ(text("{{ key \"app/x\" }}"), "missing: kv.block(app/x)");
}

TEST_F(Compat, SecretsOfBothVersionsAreWhatLiesInTheirPath) {
  cluster.variables_by_path = {{"nomad/jobs/web", {{"secret/db/password", "s3cret"}, {"secret/db/user", "ann"}}},
                               {"nomad/jobs/web/secret/data/mail", {{"password", "m4il"}}}};
  EXPECT_EQ(text("{{ with secret \"secret/db\" }}{{ .Data.password }} {{ .Data.data.user }}{{ end }}"), "s3cret ann");
  EXPECT_EQ(text("{{ with secret \"secret/data/db\" }}{{ .Data.data.password }} {{ .Data.metadata.version }}{{ end }}"),
            "s3cret 7");
  EXPECT_EQ(text("{{ with secret \"secret/data/mail\" }}{{ .Data.data.password }}{{ end }}"), "m4il");
  EXPECT_EQ(text("{{ range secrets \"secret/metadata\" }}{{ . }} {{ end }}"), "data/ db ");
  EXPECT_THAT(text("{{ with secret \"secret/none\" }}{{ .Data.x }}{{ end }}"),
              HasSubstr("missing: vault.read(secret/none): no variable that the task may read has it"));
  EXPECT_THROW(render("{{ secret \"pki/issue/x\" \"common_name=a\" }}"), Error);
}

TEST_F(Compat, ThePrefixIsThatOfTheConfiguration) {
  settings.key_variables = "consul/${namespace}";
  settings.secret_variables = "vault";
  cluster.variables_by_path = {{"consul/default/app", {{"x", "one"}}}, {"vault/secret/db", {{"password", "s3cret"}}}};
  EXPECT_EQ(text("{{ key \"app/x\" }} {{ with secret \"secret/data/db\" }}{{ .Data.data.password }}{{ end }}"),
            "one s3cret");
}

TEST_F(Compat, ServicesComeFromTheCatalogue) {
  cluster.instances = {{"web",
                        {{.id = "i1",
                          .name = "web",
                          .node = "n1",
                          .node_datacenter = "dc1",
                          .address = "10.0.0.1",
                          .port = 80,
                          .status = "passing"}}},
                       {"web|any",
                        {{.id = "i1", .node = "n1", .node_datacenter = "dc1", .status = "passing"},
                         {.id = "i2", .node = "n2", .node_datacenter = "dc2", .status = "critical"}}}};
  EXPECT_EQ(text("{{ range service \"web\" }}{{ .Address }}:{{ .Port }} {{ end }}"), "10.0.0.1:80 ");
  EXPECT_EQ(text("{{ range service \"web|any\" }}{{ .ID }} {{ end }}"), "i1 i2 ");
  EXPECT_EQ(text("{{ range service \"web@dc2|critical\" }}{{ .ID }} {{ end }}"), "i2 ");
}

TEST_F(Compat, TheSitesServersAnswerWhereTheConfigurationSaysSo) {
  settings.key = sources::From::foreign;
  settings.secret = sources::From::nothing;
  const gotemplate::ForeignQuery query{.kind = gotemplate::ForeignKind::key, .name = "app/x"};
  cluster.of_others[query].why = "cannot connect to http://127.0.0.1:8500: Connection refused";
  EXPECT_EQ(text("{{ key \"app/x\" }}"),
            "missing: kv.block(app/x): cannot connect to http://127.0.0.1:8500: Connection refused");
  EXPECT_THAT(render("{{ key \"app/x\" }}").dependencies.foreign, ElementsAre(query));
  try {
    render("{{ secret \"secret/db\" }}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.text(), HasSubstr("vault.read(secret/db) is switched off on this node"));
  }
}

}  // namespace
}  // namespace underway::node
