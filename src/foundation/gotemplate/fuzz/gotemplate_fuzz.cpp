// Parses any bytes as a template and renders it with both sets of functions. Nothing may crash, hang, leak or use more
// than it may; whatever is thrown is an Error. The first byte chooses set and options.
#include "gotemplate/execute.hpp"

#include "base/error.hpp"

#include <cstdint>

using namespace underway;
using namespace underway::gotemplate;

namespace {

class Source final : public DataSource {
 public:
  std::optional<std::string> env(const std::string& name) override { return "value of " + name; }
  Answer<std::optional<Variable>> variable(const std::string& path, const std::string&) override {
    if (path == "none") return std::optional<Variable>();
    if (path.empty()) return std::nullopt;
    return std::optional(Variable{{.path = path}, {{"key", "value"}, {"other", "{\"a\": [1, 2]}"}}});
  }
  Answer<std::vector<VariableMetadata>> variables(const std::string& prefix, const std::string&) override {
    return std::vector<VariableMetadata>{{.path = prefix + "/x"}};
  }
  Answer<std::vector<ServiceInstance>> service(const std::string& name) override {
    return std::vector<ServiceInstance>{{.id = "1", .name = name, .address = "10.0.0.1", .port = 80, .tags = {"a"}}};
  }
  Answer<std::vector<ServiceSummary>> services() override { return std::vector<ServiceSummary>{{"web", {"a", "b"}}}; }
  ForeignReply foreign(const ForeignQuery& query, Dependencies& used) override {
    used.foreign.insert(query);
    if (query.name == "none") return {ForeignAnswer(), "why"};
    if (query.name.empty()) return {};
    Secret secret{.lease_id = "l", .data = {{"a", 1}, {"b", {{"c", "x"}}}}};
    if (query.name == "x") secret.metadata = boost::json::object{{"version", 1}};
    return {ForeignAnswer{.instances = {{.id = "1", .name = query.name, .tags = {"a"}, .meta = {{"m", "1"}}}},
                          .services = {{"web", {"a"}}},
                          .pairs = {{.path = query.name + "/k/v", .value = "x"}, {.path = query.name, .value = "y"}},
                          .secret = secret,
                          .names = {"a", "b/"}},
            {}};
  }
  std::string read_file(const std::string& path) override { return "a: [1, 2]\nb: " + path; }
};

Value data() {
  return Value::map({{"s", Value("text")},
                     {"n", Value(7)},
                     {"f", Value(1.5)},
                     {"l", Value::list({Value(1), Value("two"), Value()})},
                     {"m", Value::map({{"a", Value(1)}, {"b", Value::list({Value("x")})}})}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t options = bytes[0];
  const std::string text(reinterpret_cast<const char*>(bytes + 1), size - 1);
  Source source;
  const VirtualClock clock;
  Inputs inputs{.data = data(), .source = &source, .clock = &clock};
  inputs.limits = {.output = 1U << 20, .steps = 20'000, .values = 4U << 20, .depth = 200};
  if ((options & 1U) != 0) inputs.missing_key = MissingKey::error;
  const FunctionSet& functions = (options & 2U) != 0 ? job_functions() : overlay_functions();
  const ParseOptions delimiters = (options & 4U) != 0 ? ParseOptions{"<<", ">>"} : ParseOptions{};
  try {
    static_cast<void>(render(parse("fuzz", text, functions, delimiters), inputs));
  } catch (const Error& error) {
    static_cast<void>(error.text());
  }
  return 0;
}
