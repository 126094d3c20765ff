// The functions of Consul and Vault: what they ask, and what templates make of the answers.
#include "support.hpp"

#include "base/json/json.hpp"

namespace underway::gotemplate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ForeignQuery query(ForeignKind kind, std::string name = {}) { return {.kind = kind, .name = std::move(name)}; }

ForeignInstance instance(std::string id, std::string node, std::string status, std::vector<std::string> tags) {
  ForeignInstance out{.id = std::move(id), .name = "web", .node = std::move(node), .node_address = "10.0.0.9"};
  out.address = "10.0.0.1";
  out.port = 80;
  out.status = std::move(status);
  out.tags = std::move(tags);
  out.meta = {{"version", "2"}};
  out.checks = {{.node = out.node, .id = "c1", .name = "alive", .status = out.status, .output = "fine"}};
  return out;
}

class Foreign : public ::testing::Test {
 protected:
  void answer(const ForeignQuery& to, ForeignAnswer with) { source.foreign_replies[to].answer = std::move(with); }
  std::string text(const std::string& of) {
    return message_of([&] { return render_job(of, source).text.value_or("(missing)"); }).substr(0, 300);
  }
  std::vector<std::string> missing(const std::string& of) { return render_job(of, source).missing; }

  FakeSource source;
};

TEST_F(Foreign, InstancesHaveConsulsFieldsAndTheOrderOfTheirNodes) {
  answer(query(ForeignKind::service, "web"),
         {.instances = {instance("i2", "n2", "passing", {"blue"}), instance("i1", "n1", "passing", {"green"})}});
  EXPECT_EQ(text("{{ range service \"web\" }}{{ .ID }} {{ .Name }} {{ .Node }} {{ .NodeAddress }} {{ .Address }}:"
                 "{{ .Port }} {{ join \",\" .Tags }} {{ .ServiceMeta.version }} {{ .Status }} "
                 "{{ range .Checks }}{{ .CheckID }}={{ .Status }}{{ end }}\n{{ end }}"),
            "no error: i1 web n1 10.0.0.9 10.0.0.1:80 green 2 passing c1=passing\n"
            "i2 web n2 10.0.0.9 10.0.0.1:80 blue 2 passing c1=passing\n");
  EXPECT_EQ(text("{{ range service \"blue.web|passing\" }}{{ .ID }}{{ end }}"), "no error: i2");
  EXPECT_EQ(
      text("{{ range $key, $all := service \"web\" | byMeta \"version|int,zone\" }}{{ $key }}={{ len $all }}{{ end }}"),
      "no error: 00002__no_zone_=2");
  EXPECT_EQ(text("{{ range $tag, $all := service \"web\" | byTag }}{{ $tag }} {{ end }}"), "no error: blue green ");
}

TEST_F(Foreign, StatusesDatacentersAndNearnessAreAskedFor) {
  ForeignQuery all{
      .kind = ForeignKind::service, .name = "web", .datacenter = "dc2", .near = "_agent", .passing = false};
  answer(all, {.instances = {instance("i2", "n2", "critical", {}), instance("i1", "n1", "warning", {})}});
  EXPECT_EQ(text("{{ range service \"web@dc2~_agent|any\" }}{{ .ID }} {{ end }}"), "no error: i2 i1 ");
  EXPECT_EQ(text("{{ range service \"web@dc2~_agent\" \"warning\" }}{{ .ID }} {{ end }}"), "no error: i1 ");
  EXPECT_THAT(text("{{ service \"web|sleepy\" }}"), HasSubstr("invalid filter: \"sleepy\""));
  EXPECT_THAT(text("{{ service \"web?ns=x\" }}"), HasSubstr("names namespaces or peers"));
  EXPECT_THAT(missing("{{ service \"web\" }}"), ElementsAre("health.service(web|passing)"));
  const auto asked = render_job("{{ service \"web@dc2~_agent|any\" }}", source).dependencies.foreign;
  EXPECT_THAT(asked, ElementsAre(all));
}

TEST_F(Foreign, ServicesAreListed) {
  answer(query(ForeignKind::services), {.services = {{"db", {"main"}}, {"web", {}}}});
  EXPECT_EQ(text("{{ range services }}{{ .Name }}{{ .Tags }} {{ end }}"), "no error: db[main] web[] ");
}

TEST_F(Foreign, AKeyIsWaitedForAndOneWithADefaultIsNot) {
  const auto key = query(ForeignKind::key, "app/x");
  EXPECT_THAT(missing("{{ key \"app/x\" }}"), ElementsAre("kv.block(app/x)"));
  source.foreign_replies[key].why = "cannot connect to http://127.0.0.1:8500";
  EXPECT_THAT(missing("{{ key \"/app/x\" }}"), ElementsAre("kv.block(app/x): cannot connect to http://127.0.0.1:8500"));
  EXPECT_THAT(missing("{{ keyOrDefault \"app/x\" \"d\" }}"),
              ElementsAre("kv.get(app/x): cannot connect to http://127.0.0.1:8500"));
  source.foreign_replies[key] = {ForeignAnswer(), "write it there"};
  EXPECT_THAT(missing("{{ key \"app/x\" }}"), ElementsAre("kv.block(app/x): write it there"));
  source.foreign_replies[key].why.clear();
  EXPECT_THAT(missing("{{ key \"app/x\" }}"), ElementsAre("kv.block(app/x)"));
  EXPECT_EQ(text("{{ keyOrDefault \"app/x\" \"d\" }} {{ keyExists \"app/x\" }}"), "no error: d false");
  answer(key, {.pairs = {{.path = "app/x", .value = "one"}}});
  EXPECT_EQ(text("{{ key \"app/x\" }} {{ keyOrDefault \"app/x\" \"d\" }} {{ keyExists \"app/x\" }}"),
            "no error: one one true");
}

TEST_F(Foreign, KeysAreListedRightBelowAPrefixOrAllOfThem) {
  answer(query(ForeignKind::keys, "app"), {.pairs = {{.path = "app/", .value = ""},
                                                     {.path = "app/a", .value = "1"},
                                                     {.path = "app/b/c", .value = "2"},
                                                     {.path = "app/b/", .value = ""},
                                                     {.path = "apple/d", .value = "3"}}});
  EXPECT_EQ(text("{{ range ls \"app\" }}{{ .Key }}={{ .Value }} {{ end }}"), "no error: a=1 ");
  EXPECT_EQ(text("{{ range tree \"app/\" }}{{ .Path }} {{ .Key }}={{ .Value }} {{ end }}"),
            "no error: app/a a=1 app/b/c b/c=2 ");
  EXPECT_EQ(text("{{ with tree \"app\" | explode }}{{ .a }} {{ .b.c }}{{ end }}"), "no error: 1 2");
  EXPECT_EQ(text("{{ range $top, $rest := tree \"app\" | byKey }}{{ $top }}{{ range $k, $p := $rest }} {{ $k }}="
                 "{{ $p.Value }}{{ end }}{{ end }}"),
            "no error: a =1b c=2");
  answer(query(ForeignKind::keys, "none"), {});
  EXPECT_EQ(text("{{ range ls \"none\" }}{{ else }}nothing{{ end }}"), "no error: nothing");
  EXPECT_THAT(missing("{{ range safeTree \"none\" }}{{ end }}{{ safeLs \"none\" }}"), ElementsAre("kv.list(none)"));
  EXPECT_THAT(text("{{ explode (sprig_list 1) }}"), HasSubstr("explode: expected pairs of ls or tree; got int"));
}

TEST_F(Foreign, SecretsOfBothVersionsAndWithALease) {
  Secret second{.data =
                    json::parse(R"({"data":{"password":"s3cret","port":5432},"metadata":{"version":3}})").as_object()};
  answer(query(ForeignKind::secret, "secret/data/db"), {.secret = second});
  EXPECT_EQ(text("{{ with secret \"secret/data/db\" }}{{ .Data.data.password }} {{ .Data.data.port }} "
                 "{{ .Data.metadata.version }}{{ end }}"),
            "no error: s3cret 5432 3");
  Secret lease{.lease_id = "database/creds/x/1", .lease_duration = 2764800, .renewable = true};
  lease.data = json::parse(R"({"username":"v-1"})").as_object();
  answer(query(ForeignKind::secret, "database/creds/x"), {.secret = lease});
  EXPECT_EQ(text("{{ with secret \"database/creds/x\" }}{{ .Data.username }} {{ .LeaseID }} {{ .LeaseDuration }} "
                 "{{ .Renewable }}{{ end }}"),
            "no error: v-1 database/creds/x/1 2764800 true");
  Secret either{.data = json::parse(R"({"password":"s3cret"})").as_object()};
  either.metadata = json::parse(R"({"version":9})").as_object();
  answer(query(ForeignKind::secret, "either"), {.secret = either});
  EXPECT_EQ(
      text("{{ with secret \"either\" }}{{ .Data.password }} {{ .Data.data.password }} {{ .Data.metadata.version }}"
           "{{ range $k, $v := .Data }} {{ $k }}={{ $v }}{{ end }}{{ end }}"),
      "no error: s3cret s3cret 9 password=s3cret");
}

TEST_F(Foreign, ASecretIsMadeByWritingItsParameters) {
  ForeignQuery write = query(ForeignKind::secret, "pki/issue/x");
  write.parameters = {{"common_name", "web.example"}, {"ttl", "24h"}};
  answer(write, {.secret = Secret{.data = json::parse(R"({"certificate":"PEM"})").as_object()}});
  EXPECT_EQ(
      text("{{ with secret \"pki/issue/x\" \"common_name=web.example\" \"ttl=24h\" }}{{ .Data.certificate }}{{ end }}"),
      "no error: PEM");
  EXPECT_THAT(missing("{{ secret \"pki/issue/x\" \"ttl=1h\" }}"), ElementsAre("vault.write(pki/issue/x)"));
  EXPECT_THAT(text("{{ secret \"pki/issue/x\" \"ttl\" }}"), HasSubstr("is no pair"));
}

TEST_F(Foreign, ASecretThatIsNotThereIsWaitedFor) {
  answer(query(ForeignKind::secret, "secret/db"), {});
  EXPECT_THAT(missing("{{ with secret \"secret/db\" }}{{ .Data.data.password }}{{ end }}"),
              ElementsAre("vault.read(secret/db): there is no secret"));
  answer(query(ForeignKind::secrets, "secret"), {.names = {"db", "web/"}});
  EXPECT_EQ(text("{{ range secrets \"secret/\" }}{{ . }} {{ end }}"), "no error: db web/ ");
}

TEST_F(Foreign, FunctionsAreFoundWithTheirPlaces) {
  const auto parsed = parse("t", "a\n{{ with secret \"x\" }}{{ .Data.a | connect }}{{ end }}", job_functions(),
                            {.accept_refused = true});
  std::string told;
  for (const auto& use : functions_in(parsed))
    told += fmt::format("{} {}:{} ", use.function->name, use.line, use.column);
  EXPECT_EQ(told, "secret 2:9 connect 2:35 ");
  std::size_t at = 0;
  EXPECT_THROW(parse("t", "a\n{{ if }}", job_functions(), {.failed_at = &at}), Error);
  EXPECT_EQ(at, 8U);
}

}  // namespace
}  // namespace underway::gotemplate
