#include "files/masters/template.hpp"

#include "base/error.hpp"

namespace underway::files {
namespace {

using ::testing::HasSubstr;

class TemplateTest : public ::testing::Test {
 protected:
  TemplateTest() {
    auto cluster = std::make_shared<model::Cluster>();
    cluster->name = "hpc";
    cluster->networks = {{"mgmt", "10.77.0.0/24", false}, {"fabric", "10.78.0.0/16", false}};
    TemplateContext::Inputs inputs;
    inputs.cluster = cluster;
    inputs.server_name = "sms1";
    for (int i : {2, 1}) {
      auto node = std::make_shared<model::Node>();
      node->id = fmt::format("id{}", i);
      node->name = node->host = fmt::format("c{}", i);
      node->cluster = "hpc";
      node->node_pool = "compute";
      node->meta = {{"rack", fmt::format("r{}", i)}};
      node->attributes = {{"kernel.version", "6.1.0"}};
      node->networks = {{"default", "eth0", fmt::format("10.77.0.1{}", i), ""}};
      inputs.nodes.push_back(node);
      auto host = std::make_shared<model::Host>();
      host->name = node->name;
      host->addresses = {{"mgmt", fmt::format("10.77.0.1{}", i)}, {"fabric", fmt::format("10.78.0.1{}", i)}};
      inputs.hosts.push_back(host);
    }
    world_.emplace(inputs);
    file_.name = "/etc/x";
    file_.modify_time = 1'700'000'000'000'000'000;
  }
  Rendered render(const std::string& text) {
    return world_->render(file_, text, target_, [](const std::string& name) -> std::optional<std::string> {
      if (name == "banner") return "one\n# stop here\ntwo\n";
      return std::nullopt;
    });
  }
  std::string text(const std::string& source) {
    const auto out = render(source);
    return out.files.size() == 1 ? out.files[0].text : fmt::format("{} files", out.files.size());
  }
  std::string refusal(const std::string& source) {
    try {
      return "rendered: " + text(source);
    } catch (const Error& error) {
      return error.text();
    }
  }

  std::optional<TemplateContext> world_;
  model::FileDeclaration file_;
  Target target_{"id1", "c1", "hpc", "compute", "", ""};
};

TEST_F(TemplateTest, KnowsTheNodeByWarewulfsNames) {
  EXPECT_EQ(text("{{.Id}} {{.Hostname}} {{.ClusterName}} {{.Tags.rack}} {{.ThisNode.Id}} {{.Kernel.Version}}"),
            "c1 c1 hpc r1 c1 6.1.0");
  EXPECT_EQ(text("{{.BuildHost}} {{.BuildTimeUnix}} {{.Ipaddr}} {{.Netmask}} {{.Network}} {{.NetworkCIDR}}"),
            "sms1 1700000000 10.77.0.1 255.255.255.0 10.77.0.0 10.77.0.0/24");
  EXPECT_EQ(text("{{range .Profiles}}{{.}}{{end}}|{{.Comment}}{{.Ipmi.Ipaddr}}{{.Nfs.Enabled}}"), "compute|false");
}

// Warewulf's overlay "debug" names every variable that its templates have; so does this.
TEST_F(TemplateTest, KnowsEveryVariableOfWarewulfs) {
  const std::map<std::string, std::vector<std::string>> all = {
      {"", {"Id",           "Hostname",       "Comment",       "ClusterName", "ContainerName", "ImageName",
            "Ipxe",         "RuntimeOverlay", "SystemOverlay", "Init",        "Root",          "AssetKey",
            "Discoverable", "Profiles",       "Tags",          "TagsDel",     "Keys",          "BuildHost",
            "BuildTime",    "BuildTimeUnix",  "BuildSource",   "Overlay",     "Ipaddr",        "Ipaddr6",
            "Netmask",      "Network",        "NetworkCIDR",   "Ipv6",        "AllNodes",      "ThisNode",
            "NetDevs",      "Container",      "Disks",         "FileSystems", "Resources"}},
      {"Kernel", {"Version", "Override", "Args"}},
      {"Ipmi",
       {"UserName", "Password", "Ipaddr", "Netmask", "Port", "Gateway", "Interface", "Write", "Tags", "TagsDel"}},
      {"Dhcp", {"Enabled", "Template", "RangeStart", "RangeEnd", "SystemdName"}},
      {"Nfs", {"Enabled", "SystemdName", "ExportsExtended"}},
      {"Ssh", {"KeyTypes"}},
      {"Warewulf",
       {"Port", "Secure", "UpdateInterval", "AutobuildOverlays", "EnableHostOverlay", "Syslog", "DataStore"}},
      {"NetDevs.mgmt",
       {"Type", "OnBoot", "Device", "Hwaddr", "Ipaddr", "IpCIDR", "Ipaddr6", "Prefix", "Netmask", "Gateway", "MTU",
        "Primary", "Default", "Tags", "TagsDel"}}};
  int known = 0;
  for (const auto& [of, names] : all) {
    for (const auto& name : names) {
      const std::string path = (of.empty() ? "" : "." + of) + "." + name;
      // A name that is not there is an error that says so.
      EXPECT_THAT(refusal("{{ printf \"%v\" " + path + " }}"), ::testing::Not(HasSubstr("can't evaluate field")))
          << path;
      EXPECT_THAT(refusal("{{ printf \"%v\" " + path + " }}"), ::testing::Not(HasSubstr("no value"))) << path;
      EXPECT_THAT(refusal("{{ " + path + " | kindOf }}"), ::testing::Not(HasSubstr("invalid"))) << path;
      ++known;
    }
  }
  EXPECT_EQ(known, 79);
}

// What Warewulf 4.6 and those before it have besides.
TEST_F(TemplateTest, HasTheRestOfWarewulfsVocabulary) {
  EXPECT_EQ(text("{{.Paths.WWClientdir}} {{.Paths.Sysconfdir}}"), "/warewulf /etc");
  EXPECT_EQ(text("{{.Ipmi.Write.Bool}} {{if .Ipmi.Write}}set{{else}}unset{{end}} [{{.Ipmi.Write}}]"), "false unset []");
  EXPECT_EQ(text("{{range .NetDevs}}{{eq .OnBoot \"true\"}} {{.OnBoot.Bool}};{{end}}"), "true true;true true;");
  EXPECT_EQ(text("{{.Discoverable.BoolDefaultTrue}} {{.Kernel.Args | join \" \"}}|{{range .Kernel.Args}}x{{end}}"),
            "true |");
  EXPECT_EQ(text("{{basename \"/a/b.efi\"}} {{inc 1}} {{dec 1}} {{basename \"\"}} {{basename \"/x/\"}}"),
            "b.efi 2 0 . x");
  EXPECT_EQ(text("{{with index .Tftp.IpxeBinaries \"00:07\"}}x{{end}}{{.Warewulf.GrubBoot}}{{.Dhcp.Range6Start}}"),
            "false");
  EXPECT_EQ(text("{{.BuildTime}} {{.IpCIDR6}}{{.NetworkCIDR6}}{{.Overlay}}"), "11-14-2023 22:13:20 UTC underway");
  EXPECT_EQ(text("{{SystemdEscapePath \"//a-b//c d/\"}} {{SystemdEscape \"a/.b\"}}"), "a\\x2db-c\\x20d a-.b");
}

// Warewulf's data are structs: a field that is not there fails the rendering, and is never "<no value>".
TEST_F(TemplateTest, AFieldThatIsNotThereIsNamed) {
  for (const std::string path : {".Paths.Wwclient", ".Nosuch", ".Kernel.Nosuch", ".Ipmi.Nosuch", ".ThisNode.Nosuch",
                                 ".Dhcp.Nosuch", ".Warewulf.Nosuch", ".NetDevs.mgmt.Nosuch", ".Id.Get"})
    EXPECT_THAT(refusal("{{ " + path + " }}"), HasSubstr("can't evaluate field " + path.substr(path.rfind('.') + 1)))
        << path;
  EXPECT_THAT(refusal("{{ range .AllNodes }}{{ .Nosuch }}{{ end }}"), HasSubstr("can't evaluate field Nosuch"));
}

TEST_F(TemplateTest, RefusesByNameWhatIsUnsafe) {
  for (const std::string name : {"env", "uuidv4", "genCA", "getHostByName", "randAlphaNum", "bcrypt"})
    EXPECT_THAT(refusal("{{ " + name + " }}"), HasSubstr(name)) << name;
}

TEST_F(TemplateTest, KnowsItsDevices) {
  EXPECT_EQ(
      text("{{range $name, $dev := .NetDevs}}{{$name}} {{$dev.Device}} {{$dev.Ipaddr}} {{$dev.IpCIDR}} "
           "{{$dev.Netmask}} {{$dev.Primary}} {{$dev.OnBoot.BoolDefaultTrue}} {{if $dev.Hwaddr}}mac{{end}}\n{{end}}"),
      "fabric  10.78.0.11 10.78.0.11/16 255.255.0.0 false true \n"
      "mgmt eth0 10.77.0.11 10.77.0.11/24 255.255.255.0 true true \n");
}

TEST_F(TemplateTest, KnowsEveryNodeInTheOrderOfNames) {
  EXPECT_EQ(text("{{range $node := $.AllNodes}}{{$node.Id}}:{{range $name, $dev := $node.NetDevs}}{{if $dev.Primary}}"
                 "{{$dev.Ipaddr}}{{end}}{{end}} {{end}}"),
            "c1:10.77.0.11 c2:10.77.0.12 ");
}

TEST_F(TemplateTest, ACapsuleIsKnownByItsOwnName) {
  target_.capsule = "slurm-services";
  EXPECT_EQ(text("{{.Id}} {{.Hostname}} {{.ClusterName}}"), "slurm-services slurm-services hpc");
}

TEST_F(TemplateTest, HasSprigsFunctions) {
  EXPECT_EQ(text(R"({{ "a,b" | splitList "," | join "-" }} {{ substr 0 3 "route1" }} {{ default "x" .Comment }})"),
            "a-b rou x");
}

TEST_F(TemplateTest, IncludesOtherMasters) {
  EXPECT_EQ(text("[{{ Include \"banner\" }}]"), "[one\n# stop here\ntwo]");
  EXPECT_EQ(text("[{{ IncludeBlock \"banner\" \"# stop\" }}]"), "[one\n# stop]");
  EXPECT_THAT(refusal("{{ Include \"/etc/shadow\" }}"), HasSubstr("there is no master '/etc/shadow' to include"));
}

TEST_F(TemplateTest, MayMakeNoFileSeveralOrALink) {
  EXPECT_EQ(render("x{{ if eq .Id \"c1\" }}{{ abort }}{{ end }}").files.size(), 0);
  const auto several =
      render("head\n{{ range $n, $d := .NetDevs }}{{ file (print \"ifcfg-\" $n) }}\n{{ $d.Ipaddr }}\n{{ end }}");
  ASSERT_EQ(several.files.size(), 2);
  EXPECT_EQ(several.files[0].name, "ifcfg-fabric");
  EXPECT_EQ(several.files[0].text, "10.78.0.11\n");
  EXPECT_EQ(several.files[1].name, "ifcfg-mgmt");
  const auto link = render("{{ softlink \"/usr/share/zoneinfo/UTC\" }}");
  ASSERT_EQ(link.files.size(), 1);
  EXPECT_EQ(link.files[0].link, "/usr/share/zoneinfo/UTC");
  EXPECT_THAT(refusal("{{ file \"../x\" }}"), HasSubstr("the name of a file in the same directory is wanted"));
}

TEST_F(TemplateTest, SaysWhatOfWarewulfItHasNot) {
  EXPECT_THAT(refusal("{{ IncludeFrom \"rocky\" \"/etc/group\" }}"),
              HasSubstr("declare it as a part, and use Include"));
  EXPECT_THAT(refusal("{{ ImportLink \"/etc/x\" }}"), HasSubstr("use softlink"));
  EXPECT_EQ(text("{{ nobackup }}x"), "x");
  EXPECT_EQ(text("{{ \"a:1\\nb:2\\na:3\\n\" | UniqueField \":\" 0 }}"), "a:1\nb:2\n");
  EXPECT_THAT(refusal("{{ IgnitionJson }}"), HasSubstr("being installed"));
  EXPECT_EQ(text("{{ SystemdEscapePath \"/scratch/a\" }}"), "scratch-a");
}

TEST_F(TemplateTest, AMistakeShowsItsPlace) {
  EXPECT_THAT(refusal("a\n{{ .Id | nosuch }}"), HasSubstr("/etc/x:2"));
  EXPECT_THAT(refusal("{{ range $i := until 100000000 }}x{{ end }}"), ::testing::Not(HasSubstr("rendered")));
}

}  // namespace
}  // namespace underway::files
