#include "api/nomad/nomad_body.hpp"

#include "api/detail/nomad_shape.hpp"

namespace underway::api {
namespace {

using describe::Kind;
using describe::Type;
using detail::Empty;

/// "Shared.DiskMB" is DiskMB in an object Shared (describe::Field::json).
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }

  void begin(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    const std::string_view within = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
    if (within != open_) {
      close();
      if (!within.empty()) {
        key(within);
        out_ += '{';
        first_ = true;
      }
      open_ = within;
    }
    key(dot == std::string_view::npos ? path : path.substr(dot + 1));
  }
  void end(const detail::Shape* shape, const void* value) {
    close();
    if (shape != nullptr && shape->more != nullptr) {
      const std::size_t comma = out_.size();
      shape->more(out_, value);
      if (first_ && out_.size() > comma) out_.erase(comma, 1);
    }
    out_ += '}';
  }

 private:
  void close() {
    if (open_.empty()) return;
    out_ += '}';
    first_ = false;
    open_ = {};
  }
  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    ((out_ += '"') += name) += "\":";
  }

  std::string& out_;
  std::string_view open_;
  bool first_ = true;
};

bool is_nothing(const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::boolean:
      return !*static_cast<const bool*>(value);
    case Kind::integer:
      return *static_cast<const std::int64_t*>(value) == 0;
    case Kind::number:
      return *static_cast<const double*>(value) == 0;
    case Kind::string:
      return static_cast<const std::string*>(value)->empty();
    case Kind::duration:
      return static_cast<const Duration*>(value)->count() == 0;
    case Kind::any:
      return json::is_empty(*static_cast<const boost::json::value*>(value));
    case Kind::enumeration:
      return false;
    case Kind::optional: {
      if (type.size(value) == 0) return true;
      const bool many = type.element->kind == Kind::list || type.element->kind == Kind::map;
      return many && is_nothing(*type.element, type.element_at(value, 0));
    }
    case Kind::list:
    case Kind::map:
      return type.size(value) == 0;
    case Kind::structure:
      return describe::equal(type, value, type.structure().defaults());
  }
  return false;
}

void append_time(std::string& out, std::int64_t nanoseconds) {
  (out += '"') += nanoseconds == 0 ? "0001-01-01T00:00:00Z" : format_time_exactly(from_unix_nanos(nanoseconds));
  out += '"';
}

void append_structure(std::string& out, const Type& type, const void* value) {
  const auto& structure = type.structure();
  const auto* shape = detail::find_shape(structure);
  Members members(out);
  for (std::size_t i = 0; i < structure.fields.size(); ++i) {
    const auto& field = structure.fields[i];
    if (field.json.empty()) continue;
    const Empty rule = shape == nullptr ? Empty::as_is : shape->members[i];
    if (rule == Empty::elsewhere) continue;
    const void* member = field.in(value);
    const bool nothing = rule == Empty::null_by_default
                             ? describe::equal(*field.type, member, field.in(structure.defaults()))
                             : rule != Empty::as_is && is_nothing(*field.type, member);
    if (nothing && rule == Empty::left_out) continue;
    members.begin(field.json);
    if (nothing)
      out += "null";
    else if (field.time)
      append_time(out, *static_cast<const std::int64_t*>(member));
    else
      append_nomad(out, *field.type, member);
  }
  members.end(shape, value);
}

void append_list(std::string& out, const Type& type, const void* value) {
  out += '[';
  for (std::size_t i = 0; i < type.size(value); ++i) {
    if (i > 0) out += ',';
    append_nomad(out, *type.element, type.element_at(value, i));
  }
  out += ']';
}

void append_map(std::string& out, const Type& type, const void* value) {
  struct Context {
    std::string& out;
    const Type& element;
    bool first = true;
  } context{out, *type.element};
  out += '{';
  type.each(value, &context, [](void* raw, const std::string& key, const void* element) {
    auto& c = *static_cast<Context*>(raw);
    if (!c.first) c.out += ',';
    c.first = false;
    json::append_string(c.out, key);
    c.out += ':';
    append_nomad(c.out, c.element, element);
  });
  out += '}';
}

}  // namespace

void append_nomad(std::string& out, const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::structure:
      return append_structure(out, type, value);
    case Kind::list:
      return append_list(out, type, value);
    case Kind::map:
      return append_map(out, type, value);
    case Kind::optional:
      if (type.size(value) == 0)
        out += "null";
      else
        append_nomad(out, *type.element, type.element_at(value, 0));
      return;
    default:
      return json::append(out, type, value, json::Encoding::full);
  }
}

}  // namespace underway::api
