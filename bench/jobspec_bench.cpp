// How fast job files are read: what `underway plan` of a large directory, and PUT /v1/jobs/parse, wait for.
#include "jobspec/jobspec.hpp"
#include "model/diff/diff.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace {

using namespace underway;

/// A typical service: variables, constraints, ports, a template of forty lines, three tasks.
std::string typical_job() {
  std::string conf;
  for (int i = 0; i < 40; ++i) conf += fmt::format("          Key{}=value-${{var.host}}-{}\n", i, i);
  std::string text =
      "variable \"datacenter\" {\n  type = string\n  default = \"dc1\"\n}\nvariable \"host\" {\n  type = string\n}\n"
      "locals {\n  ports = { ctl = 6817, dbd = 6819 }\n}\n"
      "job \"slurm\" {\n  priority = 95\n  datacenters = [var.datacenter]\n"
      "  constraint {\n    attribute = \"${attr.unique.hostname}\"\n    value = var.host\n  }\n"
      "  group \"g\" {\n    network {\n      port \"ctl\" {\n        static = local.ports.ctl\n      }\n"
      "      port \"metrics\" {}\n    }\n    restart {\n      attempts = 3\n      delay = \"5s\"\n    }\n";
  for (const char* task : {"main", "log", "watch"}) {
    text += fmt::format("    task \"{}\" {{\n      driver = \"raw_exec\"\n      user = \"root\"\n", task);
    text +=
        "      config {\n        command = \"/usr/sbin/slurmctld\"\n        args = [\"-D\", \"-f\", "
        "\"${NOMAD_TASK_DIR}/x\"]\n"
        "      }\n      env {\n        A = \"1\"\n        B = \"${NOMAD_PORT_ctl}\"\n      }\n"
        "      resources {\n        cpu = 500\n        memory = 512\n      }\n"
        "      template {\n        destination = \"local/slurm.conf\"\n        data = <<-EOT\n" +
        conf + "        EOT\n      }\n    }\n";
  }
  return text + "  }\n}\n";
}

jobspec::Inputs inputs() {
  jobspec::Inputs in;
  in.variables = {{"host", "mgmt"}};
  return in;
}

void parse(benchmark::State& state) {
  const std::string text = typical_job();
  const auto in = inputs();
  for (auto _ : state) {
    auto result = jobspec::parse_job(text, "job.hcl", in);
    if (!result.job) state.SkipWithError(result.diagnostics.render().c_str());
    benchmark::DoNotOptimize(result);
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.SetLabel("job files/s");
}
BENCHMARK(parse);

void write(benchmark::State& state) {
  const auto result = jobspec::parse_job(typical_job(), "job.hcl", inputs());
  for (auto _ : state) benchmark::DoNotOptimize(jobspec::write_job(*result.job));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(write);

void diff(benchmark::State& state) {
  const auto before = *jobspec::parse_job(typical_job(), "job.hcl", inputs()).job;
  auto after = before;
  after.groups[0].tasks[0].templates[0].data += "Key=new\n";
  for (auto _ : state) benchmark::DoNotOptimize(model::diff(&before, &after));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(diff);

}  // namespace
