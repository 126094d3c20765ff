#include "cli/variable/variable_text.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"
#include "wire/variable/variable.hpp"

namespace underway::cli {

static const describe::Structure& description(describe::Tag<VariableSpec>) {
  static const describe::Structure s =
      describe::Builder<VariableSpec>("variable", "A variable.")
          .attribute<&VariableSpec::ns>("namespace", "Namespace", "Its namespace.")
          .attribute<&VariableSpec::path>("path", "Path", "Its path.")
          .block_or_attribute<&VariableSpec::items>("items", "Items", "Its items.")
          .attribute<&VariableSpec::modify_index>("modify_index", "ModifyIndex", "The index that it must have.")
          .attribute<&VariableSpec::create_index>("create_index", "CreateIndex", "Set by the server.")
          .attribute<&VariableSpec::create_time>("create_time", "CreateTime", "Set by the server.")
          .attribute<&VariableSpec::modify_time>("modify_time", "ModifyTime", "Set by the server.")
          .done();
  return s;
}

namespace {

VariableSpec parse_json_spec(const std::string& text, const std::string& name) {
  boost::json::value value;
  try {
    value = json::parse(text);
  } catch (Error& error) {
    error.while_doing(fmt::format("reading '{}'", name));
    throw;
  }
  if (!value.is_object()) throw Error(Code::invalid, fmt::format("'{}' holds no JSON object", name));
  auto read = wire::decode_variable(value.get_object());
  return {std::move(read.row.ns), std::move(read.row.path), std::move(read.items), read.row.modify_index};
}

/// A string of HCL's: a secret may hold what looks like a template.
std::string quoted(const std::string& text) {
  std::string escaped;
  json::append_string(escaped, text);
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const char c = escaped[i];
    if ((c == '$' || c == '%') && i + 1 < escaped.size() && escaped[i + 1] == '{') out += c;
    out += c;
  }
  return out;
}

}  // namespace

VariableSpec parse_variable_spec(const std::string& text, const std::string& name) {
  if (trim(text).starts_with('{')) return parse_json_spec(text, name);
  hcl::Diagnostics diagnostics;
  const hcl::Body body = hcl::parse_native(text, name, diagnostics);
  auto spec = jobspec::decode<VariableSpec>(body, hcl::Context(), diagnostics);
  diagnostics.throw_errors(fmt::format("'{}' is no specification of a variable", name));
  return spec;
}

std::pair<std::string, std::string> parse_item(const std::string& word, const Readers& readers) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(Code::invalid, "an item is not of the form KEY=VALUE")
        .advise("write KEY=@FILE, or KEY=- for standard input: values on a command line are seen by others");
  }
  std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  if (value == "-")
    value = readers.input();
  else if (value.starts_with('@'))
    value = readers.file(value.substr(1));
  else if (value.starts_with("\\@") || value == "\\-")
    value.erase(0, 1);
  return {std::move(key), std::move(value)};
}

std::string variable_as_hcl(const model::OpenVariable& variable, bool with_index) {
  const auto& row = variable.row;
  std::string out = fmt::format("namespace = {}\npath      = {}\n", quoted(row.ns), quoted(row.path));
  if (with_index)
    out += fmt::format(
        "create_index = {}  # Set by server\nmodify_index = {}  # Set by server; consulted for check-and-set\n"
        "create_time  = {}  # Set by server\nmodify_time  = {}  # Set by server\n",
        row.create_index, row.modify_index, row.create_time, row.modify_time);
  out += "\nitems = {\n";
  for (const auto& [key, value] : variable.items) out += fmt::format("  {} = {}\n", quoted(key), quoted(value));
  return out + "}\n";
}

std::string variable_as_table(const model::OpenVariable& variable) {
  const auto& row = variable.row;
  std::vector<std::pair<std::string, std::string>> head{{"Namespace", row.ns},
                                                        {"Path", row.path},
                                                        {"Create Time", format_time(from_unix_nanos(row.create_time))},
                                                        {"Modify Time", format_time(from_unix_nanos(row.modify_time))},
                                                        {"Check Index", std::to_string(row.modify_index)}};
  if (row.lock) head.emplace_back("Lock", fmt::format("held, TTL {}", format_duration(row.lock->ttl)));
  std::vector<std::pair<std::string, std::string>> items(variable.items.begin(), variable.items.end());
  return key_values(head) + "\nItems\n" + key_values(items);
}

}  // namespace underway::cli
