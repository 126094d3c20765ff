#include "run/config/init_text.hpp"

#include "base/error.hpp"
#include "base/json/enumerators.hpp"
#include "os/process/process.hpp"
#include "run/init/spec.hpp"

namespace underway::run {
namespace {

static_assert(std::size(init::kRestarts) == kEnumerators<init::Restart>);
static_assert(std::size(init::kMoments) == kEnumerators<init::Moment>);

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == '\n' || c == '\0')
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

class Writer {
 public:
  void line(std::string_view key, std::string_view value) { text_ += fmt::format("{} {}\n", key, escape(value)); }
  void line(std::string_view key, std::int64_t value) { line(key, std::to_string(value)); }
  void line(std::string_view key, Duration value) {
    line(key, std::chrono::ceil<std::chrono::milliseconds>(value).count());
  }
  void words(std::string_view key, const std::vector<std::string>& values, const std::string& of) {
    if (values.size() + 1 >= init::kMaxWords) {
      throw Error(Code::too_large, fmt::format("{} has {} words", of, values.size()))
          .because(fmt::format("a capsule's init takes {} at most", init::kMaxWords - 2));
    }
    for (const auto& value : values) line(key, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_ = fmt::format("{}\n", init::kSpecHead);
};

void require_at_most(std::size_t count, int most, std::string_view what) {
  if (count <= static_cast<std::size_t>(most)) return;
  throw Error(Code::too_large, fmt::format("the capsule has {} {}", count, what))
      .because(fmt::format("its init takes {} at most", most));
}

}  // namespace

std::string encode_init_spec(const Program& program, std::int64_t attempts, std::optional<os::Capabilities> sync) {
  require_at_most(program.services.size(), init::kMaxServices, "services");
  require_at_most(program.steps.size(), init::kMaxSteps, "steps");
  Writer writer;
  writer.line("attempts", attempts);
  if (sync) writer.line("sync", static_cast<std::int64_t>(*sync));
  for (const auto& service : program.services) {
    const auto of = fmt::format("service '{}'", service.name);
    writer.line("service", service.name);
    writer.words("arg", service.command, of);
    writer.words("env", os::environment(service.environment), of);
    writer.words("after", service.depends_on, of);
    writer.words("ready", service.ready, of);
    if (!service.user.empty()) writer.line("user", service.user);
    writer.line("ready_ms", service.ready_timeout);
    writer.line("restart", init::kRestarts[static_cast<int>(service.restart)]);
    const auto signal = os::find_signal(service.stop_signal);
    if (!signal) throw Error(Code::invalid, fmt::format("{}: '{}' is no signal", of, service.stop_signal));
    writer.line("signal", std::int64_t{*signal});
    writer.line("stop_ms", service.stop_timeout);
  }
  for (const auto& step : program.steps) {
    writer.line("step", init::kMoments[static_cast<int>(step.moment)]);
    writer.words("arg", step.command, fmt::format("step '{}'", describe::spell(step.moment)));
    if (!step.user.empty()) writer.line("user", step.user);
    writer.line("ms", step.timeout);
  }
  return writer.take();
}

}  // namespace underway::run
