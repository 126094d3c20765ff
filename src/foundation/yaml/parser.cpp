#include "yaml/yaml.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <yaml.h>

namespace underway::yaml {

namespace {

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));  // NOLINT
}

struct Event {
  yaml_event_t raw{};
  Event() = default;
  ~Event() { yaml_event_delete(&raw); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

class Parser {
 public:
  Parser(std::string_view text, const Limits& limits) : limits_(limits) {
    if (yaml_parser_initialize(&parser_) == 0) throw Error(Code::exhausted, "no memory for YAML");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());  // NOLINT
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  std::vector<Node> documents() {
    std::vector<Node> found;
    for (;;) {
      Event event;
      next(event);
      if (event.raw.type == YAML_STREAM_END_EVENT) return found;
      if (event.raw.type != YAML_DOCUMENT_START_EVENT) continue;
      if (const auto* version = event.raw.data.document_start.version_directive;
          version != nullptr && (version->major != 1 || version->minor != 1))
        throw Error(Code::invalid, fmt::format("this is YAML {}.{}, 1.1 is read", version->major, version->minor));
      Event first;
      next(first);
      found.push_back(node(first, 0));
      if (found.size() >= limits_.documents) return found;
    }
  }

 private:
  void next(Event& event) {
    if (yaml_parser_parse(&parser_, &event.raw) != 0) return;
    const std::size_t line = parser_.problem_mark.line + 1;
    throw Error(Code::invalid,
                fmt::format("line {}: {}", line, parser_.problem == nullptr ? "the text ends early" : parser_.problem));
  }

  Node node(const Event& event, unsigned depth) {
    if (depth > limits_.depth)
      throw Error(Code::too_large, "the YAML is nested too deeply")
          .because(fmt::format("the limit is {} levels", limits_.depth));
    if (++nodes_ > limits_.nodes)
      throw Error(Code::too_large, "the YAML has too many nodes")
          .because(fmt::format("the limit is {}", limits_.nodes));
    Node made;
    made.line = event.raw.start_mark.line + 1;
    switch (event.raw.type) {
      case YAML_ALIAS_EVENT:
        made.kind = Node::Kind::alias;
        made.anchor = text_of(event.raw.data.alias.anchor);
        return made;
      case YAML_SCALAR_EVENT:
        return scalar(event, std::move(made));
      case YAML_SEQUENCE_START_EVENT:
        made.kind = Node::Kind::sequence;
        made.anchor = text_of(event.raw.data.sequence_start.anchor);
        made.tag = tag_of(event.raw.data.sequence_start.tag);
        children(made, YAML_SEQUENCE_END_EVENT, depth);
        return made;
      case YAML_MAPPING_START_EVENT:
        made.kind = Node::Kind::mapping;
        made.anchor = text_of(event.raw.data.mapping_start.anchor);
        made.tag = tag_of(event.raw.data.mapping_start.tag);
        children(made, YAML_MAPPING_END_EVENT, depth);
        return made;
      default:
        throw Error(Code::internal,
                    fmt::format("libyaml gave event {} where a node begins", static_cast<int>(event.raw.type)));
    }
  }

  static std::string tag_of(const yaml_char_t* tag) {
    std::string text = text_of(tag);
    return text == "!" ? std::string() : text;
  }

  static Node scalar(const Event& event, Node made) {
    const auto& data = event.raw.data.scalar;
    made.anchor = text_of(data.anchor);
    made.tag = tag_of(data.tag);
    made.text.assign(reinterpret_cast<const char*>(data.value), data.length);  // NOLINT
    switch (data.style) {
      case YAML_SINGLE_QUOTED_SCALAR_STYLE:
        made.style = Style::single_quoted;
        break;
      case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        made.style = Style::double_quoted;
        break;
      case YAML_LITERAL_SCALAR_STYLE:
        made.style = Style::literal;
        break;
      case YAML_FOLDED_SCALAR_STYLE:
        made.style = Style::folded;
        break;
      default:
        break;
    }
    return made;
  }

  void children(Node& parent, yaml_event_type_t end, unsigned depth) {
    for (;;) {
      Event event;
      next(event);
      if (event.raw.type == end) return;
      parent.children.push_back(node(event, depth + 1));
    }
  }

  Limits limits_;
  yaml_parser_t parser_{};
  std::size_t nodes_ = 0;
};

}  // namespace

std::vector<Node> parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.bytes)
    throw Error(Code::too_large, "the YAML is too long")
        .because(fmt::format("the limit is {}", human_bytes(limits.bytes)));
  return Parser(text, limits).documents();
}

}  // namespace underway::yaml
