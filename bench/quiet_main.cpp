// The main program of benchmarks that Google Benchmark runs.
#include <benchmark/benchmark.h>

int main(int argc, char** argv) {
  /// Silent about the machine: bench/run tells it once for all benchmarks.
  struct Reporter : benchmark::ConsoleReporter {
    Reporter() : ConsoleReporter(OO_None) {}
    bool ReportContext(const Context& context) override {
      name_field_width_ = context.name_field_width;
      return true;
    }
  } reporter;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks(&reporter);
}
