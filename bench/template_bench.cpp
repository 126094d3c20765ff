// How fast templates are rendered: what a node does for each task that starts, and again when something changes.
#include "gotemplate/execute.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace {

using namespace underway;
using namespace underway::gotemplate;

/// A cluster of 200 nodes behind services, and one variable.
class Cluster final : public DataSource {
 public:
  Cluster() {
    for (int i = 0; i < 200; ++i)
      nodes_.push_back({.id = fmt::format("id-{}", i),
                        .name = "slurmd",
                        .node = fmt::format("node{:03}", i),
                        .address = fmt::format("10.20.{}.{}", i / 100, i % 100 + 1),
                        .port = 6818,
                        .tags = {i % 10 == 0 ? "gpu" : "cpu"}});
  }
  std::optional<std::string> env(const std::string& name) override { return name == "NODE" ? "mgmt" : "x"; }
  Answer<std::optional<Variable>> variable(const std::string& path, const std::string&) override {
    return std::optional(Variable{{.path = path}, {{"key", "bXVuZ2UgbXVuZ2UgbXVuZ2UgbXVuZ2U="}}});
  }
  Answer<std::vector<VariableMetadata>> variables(const std::string&, const std::string&) override {
    return std::vector<VariableMetadata>{};
  }
  Answer<std::vector<ServiceInstance>> service(const std::string&) override { return nodes_; }
  Answer<std::vector<ServiceSummary>> services() override { return std::vector<ServiceSummary>{}; }
  std::string read_file(const std::string&) override { return {}; }

 private:
  std::vector<ServiceInstance> nodes_;
};

constexpr const char* kSlurm = R"(ClusterName={{ env "NOMAD_META_cluster" }}
SlurmctldHost={{ env "NODE" }}
{{- range $i, $n := nomadService "slurmd" }}
NodeName={{ $n.Node }} NodeAddr={{ $n.Address }} Port={{ $n.Port }} CPUs={{ if in $n.Tags "gpu" }}64 Gres=gpu:4{{ else }}128{{ end }} RealMemory={{ printf "%d" (multiply 1024 256) }} State=UNKNOWN
{{- end }}
PartitionName=main Nodes={{ range $i, $n := nomadService "slurmd" }}{{ if $i }},{{ end }}{{ $n.Node }}{{ end }} Default=YES
)";
constexpr const char* kMunge = R"({{ with nomadVar "nomad/jobs/munge" }}{{ .key.Value | base64Decode }}{{ end }})";

void render_text(benchmark::State& state, const char* text) {
  Cluster source;
  const Template parsed = parse("bench", text, job_functions());
  const Inputs inputs{.source = &source};
  std::size_t bytes = 0;
  for (auto _ : state) bytes += render(parsed, inputs).text->size();
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetLabel("templates/s");
}
void slurm_conf_of_200_nodes(benchmark::State& state) { render_text(state, kSlurm); }
void munge_key(benchmark::State& state) { render_text(state, kMunge); }
BENCHMARK(slurm_conf_of_200_nodes);
BENCHMARK(munge_key);

void parse_text(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(parse("bench", kSlurm, job_functions()));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(parse_text);

}  // namespace
