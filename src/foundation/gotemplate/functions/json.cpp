// JSON as Go's encoding/json writes it.
#include "base/json/json.hpp"
#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/printing/format_number.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <cmath>

namespace underway::gotemplate {

namespace {

class Writer {
 public:
  Writer(Run& run, bool escape_html, unsigned indent) : run_(run), escape_html_(escape_html), indent_(indent) {}

  void write(const Value& value, unsigned depth) {
    run_.step();
    if (depth > Value::kMaxDepth) throw Error(Code::too_large, "json: the value is nested too deeply");
    switch (value.kind()) {
      case Kind::nil:
        out_ += "null";
        return;
      case Kind::boolean:
        out_ += value.as_bool() ? "true" : "false";
        return;
      case Kind::integer:
        out_ += fmt::to_string(value.as_integer());
        return;
      case Kind::natural:
        out_ += fmt::to_string(value.as_natural());
        return;
      case Kind::real:
        return write_real(value.as_real());
      case Kind::text:
        return write_text(value.as_text());
      case Kind::list:
        if (value.is_null_list())
          out_ += "null";
        else
          write_list(value.as_list(), depth);
        return;
      case Kind::map:
        return write_map(value.as_map(), depth);
      case Kind::object:
        return write(value.as_object().plain(), depth + 1);
      case Kind::function:
        throw Error(Code::invalid, "json: unsupported type: func");
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_real(double value) {
    if (!std::isfinite(value))
      throw Error(Code::invalid, fmt::format("json: unsupported value: {}", format_real(value, 'g', -1)));
    const double size = std::fabs(value);
    const bool scientific = size != 0 && (size < 1e-6 || size >= 1e21);
    std::string text = format_real(value, scientific ? 'e' : 'f', -1);
    if (const std::size_t at = text.find("e-0"); at != std::string::npos) text.erase(at + 2, 1);
    out_ += text;
  }

  void write_text(std::string_view text) {
    run_.make(text.size() + 2);
    underway::json::append_go_string(out_, text, escape_html_);
  }

  void write_list(const List& items, unsigned depth) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      line(depth + 1);
      write(items[i], depth + 1);
    }
    if (!items.empty()) line(depth);
    out_ += ']';
  }

  void write_map(const Map& members, unsigned depth) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, member] : members) {
      if (!std::exchange(first, false)) out_ += ',';
      line(depth + 1);
      write_text(key);
      out_ += indent_ > 0 ? ": " : ":";
      write(member, depth + 1);
    }
    if (!members.empty()) line(depth);
    out_ += '}';
  }

  void line(unsigned depth) {
    if (indent_ == 0) return;
    const std::size_t spaces = std::size_t{depth} * indent_;
    run_.make(spaces + 1);
    out_ += '\n';
    out_.append(spaces, ' ');
  }

  std::string out_;
  Run& run_;
  bool escape_html_;
  unsigned indent_;
};

}  // namespace

std::string to_json(const Value& value, Run& run, bool escape_html, unsigned indent) {
  Writer writer(run, escape_html, indent);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace underway::gotemplate
