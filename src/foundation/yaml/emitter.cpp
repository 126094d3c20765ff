#include "yaml/yaml.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <yaml.h>

namespace underway::yaml {

struct Emitter::State {
  yaml_emitter_t emitter{};
  std::string out;

  void emit(yaml_event_t& event) {
    if (yaml_emitter_emit(&emitter, &event) != 0) return;
    throw Error(Code::invalid, fmt::format("this cannot be written as YAML: {}",
                                           emitter.problem == nullptr ? "no memory" : emitter.problem));
  }
};

namespace {

int append(void* to, unsigned char* bytes, std::size_t count) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);  // NOLINT
  return 1;
}

yaml_scalar_style_t style_of(Style style) {
  switch (style) {
    case Style::single_quoted:
      return YAML_SINGLE_QUOTED_SCALAR_STYLE;
    case Style::double_quoted:
      return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    case Style::literal:
      return YAML_LITERAL_SCALAR_STYLE;
    case Style::folded:
      return YAML_FOLDED_SCALAR_STYLE;
    case Style::plain:
      break;
  }
  return YAML_PLAIN_SCALAR_STYLE;
}

}  // namespace

Emitter::Emitter(int width) : state_(std::make_unique<State>()) {
  if (yaml_emitter_initialize(&state_->emitter) == 0) throw Error(Code::exhausted, "no memory for YAML");
  yaml_emitter_set_output(&state_->emitter, append, &state_->out);
  yaml_emitter_set_unicode(&state_->emitter, 1);
  yaml_emitter_set_width(&state_->emitter, width);
  yaml_event_t event;
  yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
  state_->emit(event);
  yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
  state_->emit(event);
}

Emitter::~Emitter() { yaml_emitter_delete(&state_->emitter); }

void Emitter::begin_sequence() {
  yaml_event_t event;
  yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE);
  state_->emit(event);
}

void Emitter::end_sequence() {
  yaml_event_t event;
  yaml_sequence_end_event_initialize(&event);
  state_->emit(event);
}

void Emitter::begin_mapping() {
  yaml_event_t event;
  yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
  state_->emit(event);
}

void Emitter::end_mapping() {
  yaml_event_t event;
  yaml_mapping_end_event_initialize(&event);
  state_->emit(event);
}

void Emitter::scalar(std::string_view text, Style style, std::string_view tag) {
  yaml_event_t event;
  const std::string named(tag);
  const int implicit = tag.empty() ? 1 : 0;
  // NOLINTBEGIN: libyaml's bytes are unsigned
  const auto* bytes = reinterpret_cast<const yaml_char_t*>(text.empty() ? "" : text.data());
  const auto* tag_bytes = tag.empty() ? nullptr : reinterpret_cast<const yaml_char_t*>(named.c_str());
  // NOLINTEND
  if (yaml_scalar_event_initialize(&event, nullptr, tag_bytes, bytes, static_cast<int>(text.size()), implicit, implicit,
                                   style_of(style)) == 0)
    throw Error(Code::invalid, "a text that is not UTF-8 cannot be written as YAML");
  state_->emit(event);
}

std::size_t Emitter::size() const { return state_->out.size(); }

std::string Emitter::finish() {
  yaml_event_t event;
  yaml_document_end_event_initialize(&event, 1);
  state_->emit(event);
  yaml_stream_end_event_initialize(&event);
  state_->emit(event);
  yaml_emitter_flush(&state_->emitter);
  return std::move(state_->out);
}

}  // namespace underway::yaml
