// Also part of the keeper program: libc only, no allocation.
#include "keeper/protocol.hpp"

#include <string.h>

namespace underway::keeper {
namespace {

constexpr const char* kPhases[] = {"starting", "running", "exited", "failed", "lost"};
constexpr const char* kKillModes[] = {"control-group", "process"};
static_assert(sizeof kPhases / sizeof kPhases[0] == static_cast<std::size_t>(Phase::lost) + 1);
static_assert(sizeof kKillModes / sizeof kKillModes[0] == static_cast<std::size_t>(KillMode::process) + 1);

/// Appends to a fixed buffer; what does not fit is left out.
struct Writer {
  char* out;
  std::size_t size, used = 0;

  void text(const char* value) {
    for (; *value != '\0' && used + 1 < size; ++value) out[used++] = *value;
    out[used] = '\0';
  }
  void unsigned_number(std::uint64_t value) {
    char digits[24];
    int n = sizeof digits;
    digits[--n] = '\0';
    do digits[--n] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    text(digits + n);
  }
  void number(std::int64_t value) {
    if (value < 0) text("-");
    unsigned_number(value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
  }
  void line(const char* key, std::int64_t value) {
    text(key);
    text(" ");
    number(value);
    text("\n");
  }
  void process(const char* key, std::int32_t pid, std::uint64_t start) {
    text(key);
    text(" ");
    number(pid);
    text(" ");
    unsigned_number(start);
    text("\n");
  }
};

std::uint64_t parse_unsigned(const char* text, std::size_t size, std::size_t* used) {
  std::uint64_t value = 0;
  std::size_t i = 0;
  for (; i < size && text[i] >= '0' && text[i] <= '9'; ++i)
    value = value * 10 + static_cast<std::uint64_t>(text[i] - '0');
  if (used != nullptr) *used = i;
  return value;
}

void parse_process(const Field& field, std::int32_t& pid, std::uint64_t& start) {
  std::size_t used = 0;
  pid = static_cast<std::int32_t>(parse_unsigned(field.value, field.value_size, &used) & 0x7fffffff);
  if (used < field.value_size) start = parse_unsigned(field.value + used + 1, field.value_size - used - 1, nullptr);
}

}  // namespace

const char* to_text(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }
const char* to_text(KillMode mode) { return kKillModes[static_cast<std::size_t>(mode)]; }

bool Field::is(const char* name) const { return strlen(name) == key_size && memcmp(name, key, key_size) == 0; }
bool Field::says(const char* word) const { return strlen(word) == value_size && memcmp(word, value, value_size) == 0; }

std::int64_t Field::number() const {
  const bool negative = value_size > 0 && value[0] == '-';
  const auto magnitude = parse_unsigned(value + (negative ? 1 : 0), value_size - (negative ? 1 : 0), nullptr);
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

bool next_field(const char*& text, std::size_t& size, Field& field) {
  if (size == 0) return false;
  const auto* newline = static_cast<const char*>(memchr(text, '\n', size));
  const std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - text) : size;
  const auto* space = static_cast<const char*>(memchr(text, ' ', length));
  const std::size_t key = space != nullptr ? static_cast<std::size_t>(space - text) : length;
  const std::size_t value = space != nullptr ? key + 1 : length;
  field = {text, key, text + value, length - value};
  const std::size_t taken = newline != nullptr ? length + 1 : length;
  text += taken;
  size -= taken;
  return length != 0;
}

std::size_t format_state(const State& state, char* out, std::size_t size) {
  Writer writer{out, size};
  writer.text("underway-keeper 1\nphase ");
  writer.text(to_text(state.phase));
  writer.text("\nkill_mode ");
  writer.text(to_text(state.kill_mode));
  writer.text("\n");
  writer.process("keeper", state.keeper_pid, state.keeper_start);
  writer.process("task", state.task_pid, state.task_start);
  writer.line("started", state.started);
  writer.line("finished", state.finished);
  writer.line("code", state.code);
  writer.line("signal", state.signal);
  writer.line("oom_killed", state.oom_killed ? 1 : 0);
  writer.line("step", state.step);
  writer.line("error", state.error);
  writer.text("dropped ");
  writer.unsigned_number(state.dropped);
  writer.text("\nend\n");
  return writer.used;
}

bool parse_state(const char* text, std::size_t size, State& state) {
  Field field{};
  if (!next_field(text, size, field) || !field.is("underway-keeper")) return false;
  state = State{};
  bool phase_known = false;
  while (next_field(text, size, field)) {
    if (field.is("end")) return phase_known;  // without it, the text was cut
    if (field.is("phase")) {
      for (std::size_t i = 0; i < sizeof kPhases / sizeof kPhases[0]; ++i) {
        if (!field.says(kPhases[i])) continue;
        state.phase = static_cast<Phase>(i);
        phase_known = true;
      }
    }
    // A keeper that is older than the word kills everything.
    if (field.is("kill_mode") && field.says(to_text(KillMode::process))) state.kill_mode = KillMode::process;
    if (field.is("keeper")) parse_process(field, state.keeper_pid, state.keeper_start);
    if (field.is("task")) parse_process(field, state.task_pid, state.task_start);
    if (field.is("started")) state.started = field.number();
    if (field.is("finished")) state.finished = field.number();
    if (field.is("code")) state.code = static_cast<std::int32_t>(field.number());
    if (field.is("signal")) state.signal = static_cast<std::int32_t>(field.number());
    if (field.is("oom_killed")) state.oom_killed = field.number() != 0;
    if (field.is("step")) state.step = static_cast<std::int32_t>(field.number());
    if (field.is("error")) state.error = static_cast<std::int32_t>(field.number());
    if (field.is("dropped")) state.dropped = static_cast<std::uint64_t>(field.number());
  }
  return false;
}

}  // namespace underway::keeper
