#include "api/openapi/openapi.hpp"

#include "api/detail/nomad_shape.hpp"
#include "api/openapi/tables.hpp"

#include <map>

#include "base/text.hpp"
#include "base/version.hpp"

namespace underway::api {
namespace {

using boost::json::array;
using boost::json::object;
using describe::structure_of;

std::string schema_name(const describe::Structure& structure) {
  std::string name;
  for (const auto& word : split(structure.name, ' ')) name += upper(word.substr(0, 1)) + word.substr(1);
  return name;
}

using Schemas = std::map<std::string, const describe::Structure*>;

object schema_of(const describe::Type& type, Schemas& used);

object reference(const describe::Structure& structure, Schemas& used) {
  const std::string name = schema_name(structure);
  if (used.emplace(name, &structure).second) {
    for (const auto& field : structure.fields) schema_of(*field.type, used);
  }
  return {{"$ref", "#/components/schemas/" + name}};
}

object schema_of(const describe::Type& type, Schemas& used) {
  using describe::Kind;
  switch (type.kind) {
    case Kind::boolean:
      return {{"type", "boolean"}};
    case Kind::integer:
      return {{"type", "integer"}, {"format", "int64"}};
    case Kind::number:
      return {{"type", "number"}};
    case Kind::string:
      return {{"type", "string"}};
    case Kind::duration:
      return {{"type", "integer"}, {"format", "int64"}, {"description", "nanoseconds"}};
    case Kind::any:
      return {};
    case Kind::enumeration: {
      array values;
      for (const auto& name : type.enumeration().names()) values.emplace_back(name);
      return {{"type", "string"}, {"enum", std::move(values)}};
    }
    case Kind::optional:
      return schema_of(*type.element, used);
    case Kind::list:
      return {{"type", "array"}, {"items", schema_of(*type.element, used)}};
    case Kind::map:
      return {{"type", "object"}, {"additionalProperties", schema_of(*type.element, used)}};
    case Kind::structure:
      return reference(type.structure(), used);
  }
  return {};
}

/// Where Nomad's bodies say null of what has nothing in it, readers must take it.
object or_null(object schema) {
  if (schema.contains("$ref")) return {{"anyOf", array{std::move(schema), object{{"type", "null"}}}}};
  if (auto* type = schema.if_contains("type"); type != nullptr && type->is_string()) *type = array{*type, "null"};
  return schema;
}

/// The place of a field, which the wire may nest: "Shared.DiskMB".
boost::json::value& property(object& properties, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return properties[name];
  auto& outer = properties[name.substr(0, dot)];
  if (!outer.is_object()) outer = object{{"type", "object"}, {"properties", object{}}};
  return outer.get_object()["properties"].get_object()[name.substr(dot + 1)];
}

object schema_body(const describe::Structure& structure, Schemas& used) {
  object properties;
  const auto* shape = detail::find_shape(structure);
  for (const auto& field : structure.fields) {
    if (field.json.empty()) continue;
    object schema = field.time ? object{{"type", "string"}, {"format", "date-time"}} : schema_of(*field.type, used);
    if (!field.doc.empty() && !schema.contains("$ref")) schema["description"] = field.doc;
    const auto rule = shape == nullptr ? detail::Empty::as_is
                                       : shape->members[static_cast<std::size_t>(&field - structure.fields.data())];
    const bool nullable = rule == detail::Empty::null || rule == detail::Empty::null_by_default;
    property(properties, field.json) = nullable ? or_null(std::move(schema)) : std::move(schema);
  }
  return {{"type", "object"}, {"description", structure.doc}, {"properties", std::move(properties)}};
}

/// "/v1/job/*id/plan" → "/v1/job/{id}/plan", and the parameters.
std::string template_path(std::string_view pattern, array& parameters) {
  std::string out;
  for (const auto& segment : split(pattern.substr(1), '/')) {
    out += '/';
    if (!segment.starts_with(':') && !segment.starts_with('*')) {
      out += segment;
      continue;
    }
    const std::string name = segment.substr(1);
    out += "{" + name + "}";
    parameters.push_back(
        object{{"name", name}, {"in", "path"}, {"required", true}, {"schema", object{{"type", "string"}}}});
  }
  return out;
}

object json_content(object schema) { return {{"application/json", object{{"schema", std::move(schema)}}}}; }

object operation(const Documented& route, const array& parameters, Schemas& used) {
  object response{{"description", "done"}};
  if (route.response != nullptr) {
    object schema = reference(*route.response, used);
    if (route.list) schema = object{{"type", "array"}, {"items", std::move(schema)}};
    response["content"] = json_content(std::move(schema));
  }
  object out{
      {"summary", route.summary},
      {"parameters", parameters},
      {"responses",
       object{{"200", std::move(response)},
              {"default", object{{"description",
                                  "a refusal, as plain text, or as application/problem+json if that is accepted"}}}}}};
  if (route.request != nullptr)
    out["requestBody"] = object{{"required", true}, {"content", json_content(reference(*route.request, used))}};
  return out;
}

}  // namespace

const std::vector<Documented>& documented_routes() {
  static const std::vector<Documented> routes = [] {
    auto all = table_of_routes();
    const auto& tickets = table_of_ticket_routes();
    all.insert(all.end(), tickets.begin(), tickets.end());
    return all;
  }();
  return routes;
}

std::string openapi_document() {
  Schemas used;
  object paths;
  for (const auto& route : documented_routes()) {
    array parameters;
    const std::string path = template_path(route.pattern, parameters);
    auto& item = paths[path].is_object() ? paths[path].get_object() : paths[path].emplace_object();
    for (const auto& method : split(route.methods, '|')) item[lower(method)] = operation(route, parameters, used);
  }
  object schemas;
  for (const auto& [name, structure] : Schemas(used)) schemas[name] = schema_body(*structure, used);
  return boost::json::serialize(
      object{{"openapi", "3.1.0"},
             {"info", object{{"title", "Underway"},
                             {"version", version()},
                             {"description", "Nomad's HTTP API, and ours below /v1/underway."}}},
             {"paths", std::move(paths)},
             {"components", object{{"schemas", std::move(schemas)}}}});
}

}  // namespace underway::api
