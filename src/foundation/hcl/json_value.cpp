#include "hcl/detail/json_value.hpp"

#include "hcl/functions.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <fmt/format.h>

#include <limits>

namespace underway::hcl::detail {

namespace {

namespace bj = boost::json;

/// What boost::json's parser tells, put together from the inside out.
class Builder {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  Value take() { return std::move(values_.back()); }

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_array_begin(bj::error_code&) { return true; }
  bool on_array_end(std::size_t count, bj::error_code&) {
    Value::List items(std::make_move_iterator(values_.end() - static_cast<std::ptrdiff_t>(count)),
                      std::make_move_iterator(values_.end()));
    values_.resize(values_.size() - count);
    values_.push_back(Value::tuple(std::move(items)));
    return true;
  }
  bool on_object_begin(bj::error_code&) { return true; }
  bool on_object_end(std::size_t count, bj::error_code&) {
    Value::Object members;
    for (std::size_t i = 0; i < count; ++i)
      members.insert_or_assign(std::move(keys_[keys_.size() - count + i]),
                               std::move(values_[values_.size() - count + i]));
    keys_.resize(keys_.size() - count);
    values_.resize(values_.size() - count);
    values_.push_back(Value::object(std::move(members)));
    return true;
  }
  bool on_string_part(bj::string_view part, std::size_t, bj::error_code&) { return add(part); }
  bool on_string(bj::string_view part, std::size_t, bj::error_code&) {
    add(part);
    values_.emplace_back(std::exchange(text_, {}));
    return true;
  }
  bool on_key_part(bj::string_view part, std::size_t, bj::error_code&) { return add(part); }
  bool on_key(bj::string_view part, std::size_t, bj::error_code&) {
    add(part);
    keys_.push_back(std::exchange(text_, {}));
    return true;
  }
  bool on_number_part(bj::string_view part, bj::error_code&) { return add(part); }
  bool on_int64(std::int64_t, bj::string_view part, bj::error_code& failure) { return number(part, failure); }
  bool on_uint64(std::uint64_t, bj::string_view part, bj::error_code& failure) { return number(part, failure); }
  bool on_double(double, bj::string_view part, bj::error_code& failure) { return number(part, failure); }
  bool on_bool(bool flag, bj::error_code&) {
    values_.emplace_back(flag);
    return true;
  }
  bool on_null(bj::error_code&) {
    values_.emplace_back();
    return true;
  }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

 private:
  bool add(bj::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool number(bj::string_view part, bj::error_code& failure) {
    add(part);
    auto number = Number::parse(std::exchange(text_, {}));
    if (!number) failure = bj::error::exponent_overflow;
    if (number) values_.emplace_back(std::move(*number));
    return !failure;
  }

  std::vector<Value> values_;
  std::vector<std::string> keys_;
  std::string text_;
};

}  // namespace

Value read_json(std::string_view text) {
  bj::parse_options options;
  options.max_depth = Value::kMaxDepth;
  bj::basic_parser<Builder> parser(options);
  bj::error_code failure;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), failure);
  if (!failure && read < text.size()) failure = bj::error::extra_data;
  if (failure) throw ArgumentError(0, fmt::format("this is no JSON: {}", failure.message()));
  return parser.handler().take();
}

}  // namespace underway::hcl::detail
