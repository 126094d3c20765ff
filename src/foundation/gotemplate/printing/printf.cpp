#include "gotemplate/format.hpp"
#include "gotemplate/printing/printer.hpp"
#include "gotemplate/printing/utf8.hpp"
#include "gotemplate/run.hpp"

namespace underway::gotemplate {

namespace {

/// Widths and precisions from arguments have this bound in Go; those in the format may have one digit more.
constexpr int kLargestWidth = 1'000'000;

/// Reads a format and prints its values, as fmt's doPrintf.
class Formatter {
 public:
  Formatter(std::string_view format, std::span<const Value> values, Run& run)
      : rest_(format), values_(values), run_(run) {}

  std::string run() {
    while (!rest_.empty()) {
      const std::size_t percent = std::min(rest_.find('%'), rest_.size());
      out_ += rest_.substr(0, percent);
      rest_.remove_prefix(percent);
      if (rest_.empty()) break;
      rest_.remove_prefix(1);
      run_.step();
      directive();
    }
    if (!reordered_ && next_ < values_.size()) extra();
    return std::move(out_);
  }

 private:
  void directive() {
    flags_ = {};
    good_index_ = true;
    after_index_ = false;
    read_flags();
    read_index();
    read_width();
    read_precision();
    if (!after_index_) read_index();
    if (rest_.empty()) {
      out_ += "%!(NOVERB)";
      return;
    }
    const Rune verb = decode(rest_);
    rest_.remove_prefix(verb.size);
    if (verb.value == '%')
      out_ += '%';
    else if (!good_index_)
      complain(verb.value, "(BADINDEX)");
    else if (next_ >= values_.size())
      complain(verb.value, "(MISSING)");
    else
      print(verb.value);
  }

  void print(char32_t verb) {
    if (verb == 'v' || verb == 'w') {
      flags_.sharp_v = std::exchange(flags_.sharp, false);
      flags_.plus = false;  // "%+v" names the fields of structs, and there are none
    }
    Printer(out_, run_, flags_).value(values_[next_++], verb, 0);
  }

  void complain(char32_t verb, std::string_view what) {
    out_ += "%!";
    append(out_, verb);
    out_ += what;
  }

  bool at(char c) const { return !rest_.empty() && rest_.front() == c; }

  void read_flags() {
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      switch (rest_.front()) {
        case '#':
          flags_.sharp = true;
          continue;
        case '0':
          flags_.zero = true;
          continue;
        case '+':
          flags_.plus = true;
          continue;
        case '-':
          flags_.minus = true;
          continue;
        case ' ':
          flags_.space = true;
          continue;
        default:
          return;
      }
    }
  }

  /// Takes digits off `text`; nothing when there are none or too many.
  static std::optional<int> read_number(std::string_view& text) {
    int number = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
      if (number > kLargestWidth) return std::nullopt;
      number = number * 10 + (text[digits] - '0');
    }
    text.remove_prefix(digits);
    return digits > 0 ? std::optional(number) : std::nullopt;
  }

  /// "[3]" makes the third value the next one.
  void read_index() {
    if (!at('[')) return;
    reordered_ = true;
    const std::size_t close = rest_.find(']');
    if (close == std::string_view::npos) {
      good_index_ = false;
      rest_.remove_prefix(1);
      return;
    }
    std::string_view inside = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    const auto number = read_number(inside);
    if (number && inside.empty() && *number >= 1 && static_cast<std::size_t>(*number) <= values_.size()) {
      next_ = static_cast<std::size_t>(*number) - 1;
      after_index_ = true;
    } else {
      good_index_ = false;
    }
  }

  /// The value for a `*`; nothing when it is no small integer.
  std::optional<int> star() {
    if (next_ >= values_.size()) return std::nullopt;
    const Value& value = values_[next_++];
    if (value.kind() != Kind::integer) return std::nullopt;
    const std::int64_t number = value.as_integer();
    if (number > kLargestWidth || number < -kLargestWidth) return std::nullopt;
    return static_cast<int>(number);
  }

  void read_width() {
    if (at('*')) {
      rest_.remove_prefix(1);
      const auto width = star();
      if (!width) out_ += "%!(BADWIDTH)";
      flags_.width = width.value_or(-1);
      if (width && *width < 0) {
        flags_.width = -*width;
        flags_.minus = true;
        flags_.zero = false;
      }
      after_index_ = false;
      return;
    }
    const auto width = read_number(rest_);
    if (!width) return;
    flags_.width = *width;
    if (after_index_) good_index_ = false;  // "%[3]2d"
  }

  void read_precision() {
    if (!at('.') || rest_.size() < 2) return;
    rest_.remove_prefix(1);
    if (after_index_) good_index_ = false;  // "%[3].2d"
    read_index();
    if (at('*')) {
      rest_.remove_prefix(1);
      const auto precision = star();
      if (!precision || *precision < 0) {
        out_ += "%!(BADPREC)";
        flags_.precision = -1;
      } else {
        flags_.precision = *precision;
      }
      after_index_ = false;
    } else {
      flags_.precision = read_number(rest_).value_or(0);
    }
  }

  void extra() {
    out_ += "%!(EXTRA ";
    for (std::size_t i = next_; i < values_.size(); ++i) {
      if (i > next_) out_ += ", ";
      if (values_[i].is_nil()) {
        out_ += "<nil>";
        continue;
      }
      out_ += values_[i].type_name();
      out_ += '=';
      append_text(out_, values_[i], run_);
    }
    out_ += ')';
  }

  std::string out_;
  std::string_view rest_;
  std::span<const Value> values_;
  Run& run_;
  Flags flags_;
  std::size_t next_ = 0;
  bool good_index_ = true;
  bool after_index_ = false;
  bool reordered_ = false;
};

}  // namespace

std::string printf(std::string_view format, std::span<const Value> values, Run& run) {
  run.make(format.size());
  return Formatter(format, values, run).run();
}

}  // namespace underway::gotemplate
