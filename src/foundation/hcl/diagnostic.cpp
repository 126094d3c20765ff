#include "hcl/diagnostic.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

namespace {

constexpr std::size_t kMaxLine = 160;  // a longer source line is cut around the marked place

bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); }));
}

struct Paint {
  bool on;
  std::string red(std::string_view t) const { return wrap("\x1b[1;31m", t); }
  std::string yellow(std::string_view t) const { return wrap("\x1b[1;33m", t); }
  std::string bold(std::string_view t) const { return wrap("\x1b[1m", t); }
  std::string faint(std::string_view t) const { return wrap("\x1b[2m", t); }
  std::string wrap(std::string_view code, std::string_view t) const {
    return on ? fmt::format("{}{}\x1b[0m", code, t) : std::string(t);
  }
};

/// Control characters of a hostile file must not reach the terminal.
std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto b = static_cast<unsigned char>(c);
    if (c == '\t') {
      out += ' ';
    } else if (b < 0x20 || b == 0x7f) {
      out += "?";
    } else {
      out += c;
    }
  }
  return is_utf8(out) ? out : std::string("(not UTF-8)");
}

struct Excerpt {
  std::string line;
  std::size_t indent = 0;  // code points before the mark
  std::size_t marks = 1;
};

Excerpt excerpt_of(const Range& range) {
  const std::string& text = range.source->text();
  const std::size_t begin = std::min<std::size_t>(range.begin, text.size());
  std::string_view line = range.source->line_at(begin);
  const auto line_begin = static_cast<std::size_t>(line.data() - text.data());
  std::size_t at = std::min(begin - line_begin, line.size());
  std::size_t end = std::min<std::size_t>(std::max<std::size_t>(range.end, begin) - line_begin, line.size());
  std::string lead;
  std::string tail;
  if (line.size() > kMaxLine) {
    std::size_t from = at > kMaxLine / 2 ? at - kMaxLine / 2 : 0;
    while (from > 0 && continues_code_point(line[from])) --from;
    std::size_t to = std::min(line.size(), from + kMaxLine);
    while (to < line.size() && continues_code_point(line[to])) ++to;
    lead = from > 0 ? "…" : "";
    tail = to < line.size() ? "…" : "";
    line = line.substr(from, to - from);
    at -= from;
    end = std::min(end - from, line.size());
  }
  Excerpt excerpt;
  excerpt.line = lead + printable(line) + tail;
  excerpt.indent = (lead.empty() ? 0 : 1) + count_code_points(line.substr(0, at));
  excerpt.marks = std::max<std::size_t>(1, end > at ? count_code_points(line.substr(at, end - at)) : 0);
  return excerpt;
}

/// Continuation lines of a long text line up below its first one.
std::string hanging(std::string_view text) {
  std::string out;
  for (const auto& line : split(text, '\n')) {
    if (!out.empty()) out += "\n         ";
    out += printable(line);
  }
  return out;
}

}  // namespace

Position Source::locate(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const std::string_view before = std::string_view(text_).substr(0, offset);
  Position position;
  position.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  position.column = 1 + count_code_points(newline == std::string_view::npos ? before : before.substr(newline + 1));
  return position;
}

std::string_view Source::line_at(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const std::string_view text = text_;
  const std::size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  std::size_t end = std::min(text.find('\n', offset), text.size());
  if (end > begin && text[end - 1] == '\r') --end;
  return text.substr(begin, end - begin);
}

std::string_view Range::text() const {
  if (!source || begin >= source->text().size() || end < begin) return {};
  return std::string_view(source->text()).substr(begin, end - begin);
}

std::string Range::where() const {
  if (!source) return {};
  const Position position = start();
  return fmt::format("{}:{}:{}", source->name(), position.line, position.column);
}

std::string render(const Diagnostic& d, Style style) {
  const Paint paint{style == Style::coloured};
  const bool is_error = d.severity == Severity::error;
  std::string out =
      fmt::format("{} {}\n", is_error ? paint.red("error:") : paint.yellow("warning:"), paint.bold(hanging(d.summary)));
  if (d.range) {
    const Excerpt excerpt = excerpt_of(d.range);
    const std::string number = fmt::format("{:>6} |", d.range.start().line);
    const std::string marks(excerpt.marks, '^');
    out += fmt::format("  {}    {}\n", paint.faint("at:"), printable(d.range.where()));
    out += fmt::format("  {} {}\n", paint.faint(number), excerpt.line);
    out += fmt::format("  {} {}{}\n", paint.faint("       |"), std::string(excerpt.indent, ' '),
                       is_error ? paint.red(marks) : paint.yellow(marks));
  }
  if (!d.detail.empty()) out += fmt::format("  {}   {}\n", paint.faint("why:"), hanging(d.detail));
  if (!d.suggestion.empty()) out += fmt::format("  {}    {}\n", paint.faint("do:"), hanging(d.suggestion));
  return out;
}

Diagnostic& Diagnostics::error(Range range, std::string summary, std::string detail, std::string suggestion) {
  const std::size_t before = all_.size();
  add({Severity::error, std::move(summary), std::move(detail), std::move(suggestion), std::move(range)});
  return all_.size() > before ? all_.back() : overflow_;
}

Diagnostic& Diagnostics::warning(Range range, std::string summary, std::string detail, std::string suggestion) {
  const std::size_t before = all_.size();
  add({Severity::warning, std::move(summary), std::move(detail), std::move(suggestion), std::move(range)});
  return all_.size() > before ? all_.back() : overflow_;
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) ++errors_;
  if (all_.size() >= kMax) {
    ++dropped_;
    return;
  }
  all_.push_back(std::move(diagnostic));
}

void Diagnostics::append(Diagnostics other) {
  for (auto& diagnostic : other.all_) add(std::move(diagnostic));
  dropped_ += other.dropped_;
  errors_ += other.errors_ -
             static_cast<std::size_t>(std::count_if(other.all_.begin(), other.all_.end(),
                                                    [](const Diagnostic& d) { return d.severity == Severity::error; }));
}

std::string Diagnostics::render(Style style) const {
  std::vector<const Diagnostic*> sorted;
  std::vector<const Source*> files;  // in order of first mention
  for (const auto& d : all_) {
    sorted.push_back(&d);
    if (std::find(files.begin(), files.end(), d.range.source.get()) == files.end())
      files.push_back(d.range.source.get());
  }
  const auto rank = [&](const Diagnostic* d) { return std::find(files.begin(), files.end(), d->range.source.get()); };
  std::sort(sorted.begin(), sorted.end(), [&](const Diagnostic* a, const Diagnostic* b) {
    const auto ra = rank(a);
    const auto rb = rank(b);
    if (ra != rb) return ra < rb;
    return a->range.begin != b->range.begin ? a->range.begin < b->range.begin : a < b;
  });
  std::string out;
  for (const Diagnostic* d : sorted) out += hcl::render(*d, style);
  if (dropped_ > 0) out += fmt::format("… and {} more\n", dropped_);
  return out;
}

Error Diagnostics::to_error(std::string what) const {
  Error error(Code::invalid, std::move(what));
  for (const auto& d : all_) {
    if (d.severity != Severity::error) continue;
    std::string reason = d.range ? fmt::format("{}: {}", d.range.where(), d.summary) : d.summary;
    if (!d.detail.empty()) reason += fmt::format(" ({})", d.detail);
    if (!d.suggestion.empty()) reason += fmt::format("; {}", d.suggestion);
    error.because(std::move(reason));
  }
  if (dropped_ > 0) error.because(fmt::format("and {} more", dropped_));
  return error;
}

void Diagnostics::throw_errors(std::string what) const {
  if (has_errors()) throw to_error(std::move(what));
}

std::string suggest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? std::string() : fmt::format("write '{}'", near);
}

}  // namespace underway::hcl
