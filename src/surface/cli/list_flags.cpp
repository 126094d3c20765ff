#include "cli/list_flags.hpp"

#include "base/error.hpp"
#include "cli/terminal.hpp"
#include "gotemplate/execute.hpp"

namespace underway::cli {
namespace {

gotemplate::Value data_of(const boost::json::value& json) {
  switch (json.kind()) {
    case boost::json::kind::null:
      return {};
    case boost::json::kind::bool_:
      return json.get_bool();
    case boost::json::kind::int64:
      return json.get_int64();
    case boost::json::kind::uint64:
      return json.get_uint64();
    case boost::json::kind::double_:
      return json.get_double();
    case boost::json::kind::string:
      return std::string_view(json.get_string());
    case boost::json::kind::array: {
      gotemplate::List items;
      for (const auto& item : json.get_array()) items.push_back(data_of(item));
      return gotemplate::Value::list(std::move(items));
    }
    case boost::json::kind::object: {
      gotemplate::Map members;
      for (const auto& member : json.get_object())
        members.insert_or_assign(std::string(member.key()), data_of(member.value()));
      return gotemplate::Value::map(std::move(members));
    }
  }
  return {};
}

void add_format_flags(std::vector<Flag>& flags) {
  flags.push_back({"json", "", "As JSON."});
  flags.push_back(kTemplate);
}

}  // namespace

std::vector<Flag> with_format_flags(std::vector<Flag> own) {
  add_format_flags(own);
  return own;
}

std::vector<Flag> with_list_flags(std::vector<Flag> own) {
  own.push_back({"filter", "EXPRESSION", "Only what the expression wants: 'Status == \"running\"'."});
  own.push_back(number_flag("per-page", "N", "At most so many."));
  own.push_back({"page-token", "TOKEN", "From there on: as the page before told."});
  add_format_flags(own);
  return own;
}

sdk::ListQuery list_query(const Arguments& arguments) {
  sdk::ListQuery query;
  query.filter = arguments.get("filter");
  query.page_token = arguments.get("page-token");
  query.per_page = arguments.number("per-page").value_or(query.per_page);
  return query;
}

bool print_formatted(const Arguments& arguments, const boost::json::value& value) {
  if (const auto text = arguments.find("t")) {
    if (arguments.has("json")) throw Error(Code::invalid, "either -json or -t may be given");
    gotemplate::Inputs inputs;
    inputs.data = data_of(value);
    const auto& functions = gotemplate::language_functions();
    print(gotemplate::render(gotemplate::parse("format", *text, functions), inputs).text.value_or("") + "\n");
    return true;
  }
  if (!arguments.has("json")) return false;
  print_json(value);
  return true;
}

void tell_next_page(const std::string& next_token) {
  if (next_token.empty()) return;
  say(fmt::format("There is more: -page-token '{}' shows the next page.", next_token));
}

}  // namespace underway::cli
