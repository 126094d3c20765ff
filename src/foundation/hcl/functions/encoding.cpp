#include "base/json/json.hpp"
#include "base/text.hpp"
#include "hcl/detail/arguments.hpp"
#include "hcl/detail/json_value.hpp"
#include "hcl/detail/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

void append_json(const Value& value, std::string& out, Budget& budget) {
  budget.step();
  if (out.size() > budget.limits().string_bytes) budget.produce_string(out.size());
  switch (value.kind()) {
    case Kind::null:
    case Kind::boolean:
    case Kind::number:
      out += to_text(value).value_or("null");
      return;
    case Kind::string:
      json::append_go_string(out, value.as_string());
      return;
    case Kind::tuple:
    case Kind::list:
    case Kind::set: {
      out += '[';
      for (const auto& item : value.items()) {
        if (&item != value.items().data()) out += ',';
        append_json(item, out, budget);
      }
      out += ']';
      return;
    }
    case Kind::object:
    case Kind::map: {
      out += '{';
      const char* separator = "";
      for (const auto& [name, member] : value.members()) {
        out += separator;
        separator = ",";
        json::append_go_string(out, name);
        out += ':';
        append_json(member, out, budget);
      }
      out += '}';
      return;
    }
  }
}

Value decode_json(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  arguments.budget().produce(text.size());
  return read_json(text);
}

std::string url_encode(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto b = static_cast<unsigned char>(c);
    if (std::isalnum(b) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else if (c == ' ') {
      out += '+';  // application/x-www-form-urlencoded, as Go's url.QueryEscape
    } else {
      out += fmt::format("%{:02X}", b);
    }
  }
  return out;
}

/// RFC 4180 records; quoted fields may hold separators, quotes (doubled) and line ends.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  std::optional<std::vector<std::string>> record() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_, line_ += text_[at_ - 1] == '\n' ? 1 : 0;
    if (at_ >= text_.size()) return std::nullopt;
    std::vector<std::string> fields;
    for (;;) {
      fields.push_back(field());
      if (at_ >= text_.size()) return fields;
      const char c = text_[at_++];
      if (c == '\n') {
        ++line_;
        return fields;
      }
    }
  }
  std::size_t line() const { return line_; }

 private:
  std::string field() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    if (field.ends_with('\r') && (end == text_.size() || text_[end] == '\n')) field.pop_back();
    if (field.find('"') != std::string::npos) fail("a quote stands within a field");
    at_ = end;
    return field;
  }

  std::string quoted() {
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '"') {
        field += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        field += text_[at_++];
      } else {
        ++at_;
        if (text_.substr(at_, 2) == "\r\n") ++at_;
        if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n')
          fail("after a quoted field, ',' is required");
        return field;
      }
    }
    fail("a quote is never closed");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw ArgumentError(0, fmt::format("this is no CSV: record at line {}: {}", line_, what));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

Value decode_csv(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  CsvReader reader(text);
  const auto header = reader.record();
  if (!header) throw ArgumentError(0, "this CSV has no header line");
  for (auto name = header->begin(); name != header->end(); ++name) {
    if (std::find(header->begin(), name, *name) != name)
      throw ArgumentError(0, fmt::format("this CSV has two columns named {}", describe(Value(*name), 60)));
  }
  Value::List rows;
  while (const auto record = reader.record()) {
    if (record->size() != header->size()) {
      throw ArgumentError(0, fmt::format("the record before line {} has {} fields, the header {}", reader.line(),
                                         record->size(), header->size()));
    }
    arguments.budget().step(record->size());
    Value::Object row;
    for (std::size_t i = 0; i < record->size(); ++i) {
      arguments.budget().produce((*header)[i].size() + (*record)[i].size() + sizeof(Value));
      row.insert_or_assign((*header)[i], Value((*record)[i]));
    }
    rows.push_back(Value::object(std::move(row)));
  }
  Type row{.form = Type::Form::object};
  for (const auto& name : *header) row.members.emplace(name, Type::Member{{.form = Type::Form::string}, false, {}});
  return Arguments::list_of(std::move(rows), std::move(row));
}

Value decode_base64(const Arguments& arguments) {
  std::string bytes;
  try {
    std::string text = arguments.text(0);
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });  // lines are folded, as Go reads them
    bytes = base64_decode(text);
  } catch (const Error& e) {
    throw ArgumentError(0, e.message());
  }
  if (!is_utf8(bytes)) throw ArgumentError(0, "the decoded bytes are not UTF-8, so they are no string");
  return bytes;
}

}  // namespace

std::string encode_json(const Value& value, Budget& budget) {
  std::string out;
  append_json(value, out, budget);
  return out;
}

void add_encoding_functions(Entries& entries) {
  entries["base64decode"] = {"text", 1, 1, [](const Call& call) { return decode_base64(Arguments(call)); }};
  entries["base64encode"] = {"text", 1, 1,
                             [](const Call& call) -> Value { return base64_encode(Arguments(call).text(0)); }};
  entries["csvdecode"] = {"text", 1, 1, [](const Call& call) { return decode_csv(Arguments(call)); }};
  entries["jsondecode"] = {"text", 1, 1, [](const Call& call) { return decode_json(Arguments(call)); }};
  entries["jsonencode"] = {"value", 1, 1,
                           [](const Call& call) -> Value {
                             const Arguments arguments(call);
                             return encode_json(arguments[0], arguments.budget());
                           },
                           true};
  entries["urlencode"] = {"text", 1, 1, [](const Call& call) -> Value { return url_encode(Arguments(call).text(0)); }};
}

}  // namespace underway::hcl::detail
