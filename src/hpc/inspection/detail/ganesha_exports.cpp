#include "inspection/detail/ganesha_exports.hpp"

#include "base/text.hpp"

namespace underway::inspection::detail {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxExports = 10'000;
constexpr std::size_t kMaxClients = 4096;  ///< characters

/// Words, quoted strings, and the signs { } = ; each alone. A comma is part of a list's words.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  /// Empty at the end. `quoted` tells a quoted sign from a sign.
  std::string next(bool& quoted) {
    skip();
    quoted = false;
    if (text_.empty()) return {};
    const char first = text_.front();
    if (first == '"' || first == '\'') {
      quoted = true;
      const auto end = text_.find(first, 1);
      return take(1, end == std::string_view::npos ? text_.size() : end, 1);
    }
    if (is_sign(first)) return take(0, 1, 0);
    const auto end = text_.find_first_of(" \t\r\n{}=;#\"'");
    return take(0, std::min(end, text_.size()), 0);
  }

 private:
  static bool is_sign(char c) { return c == '{' || c == '}' || c == '=' || c == ';'; }
  void skip() {
    while (!text_.empty()) {
      const auto begin = text_.find_first_not_of(" \t\r\n");
      text_.remove_prefix(std::min(begin, text_.size()));
      if (!text_.starts_with('#')) return;
      text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
    }
  }
  std::string take(std::size_t from, std::size_t to, std::size_t more) {
    std::string out(text_.substr(from, to - from));
    text_.remove_prefix(std::min(to + more, text_.size()));
    return out;
  }

  std::string_view text_;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& source) : tokens_(text), source_(source) {}

  GaneshaConfiguration read() {
    bool quoted = false;
    for (auto token = tokens_.next(quoted); quoted || !token.empty(); token = tokens_.next(quoted)) {
      if (quoted || token.find_first_of("{}=;") == std::string::npos)
        word(std::move(token));
      else
        sign(token.front());
    }
    return std::move(out_);
  }

 private:
  void word(std::string token) {
    if (including_) {
      including_ = false;
      if (out_.includes.size() < kMaxExports) out_.includes.push_back(std::move(token));
    } else if (lower(token) == "%include") {
      including_ = true;
    } else if (has_key_) {
      if (value_.size() < kMaxClients) value_ += (value_.empty() ? "" : " ") + token;
    } else {
      name_ = lower(token);
    }
  }

  void sign(char c) {
    if (c == '=') {
      has_key_ = true;
      value_.clear();
    } else if (c == ';') {
      if (has_key_) set();
      end_of_setting();
    } else if (c == '{') {
      open();
      end_of_setting();
    } else {
      if (has_key_) set();  // the last one of a block needs no ';'
      close();
      end_of_setting();
    }
  }
  void end_of_setting() {
    has_key_ = false;
    name_.clear();
    value_.clear();
  }

  void open() {
    if (blocks_.size() == kMaxDepth)
      ++too_deep_;
    else
      blocks_.push_back(name_);
    if (too_deep_ > 0) return;
    if (is_export()) one_ = {.path = "", .clients = "", .read_only = true, .source = source_};
    if (is_client()) client_ = access_ = "";
  }
  void close() {
    if (too_deep_ > 0) {
      --too_deep_;
      return;
    }
    if (blocks_.empty()) return;
    if (is_client() && !client_.empty()) add_client(client_ + (access_.empty() ? "" : "(" + access_ + ")"));
    if (is_export() && one_.path.starts_with('/') && out_.exports.size() < kMaxExports) {
      if (!export_access_.empty()) add_client("*(" + export_access_ + ")");
      out_.exports.push_back(one_);
    }
    if (is_export()) export_access_.clear();
    blocks_.pop_back();
  }

  void set() {
    if (too_deep_ > 0) return;
    // RW and MDONLY let clients change something; the default is None.
    const bool writes = name_ == "access_type" && (lower(value_) == "rw" || lower(value_) == "mdonly");
    if (is_export()) {
      if (name_ == "path") one_.path = value_;
      if (name_ == "access_type") export_access_ = value_;
    } else if (is_client()) {
      if (name_ == "clients") client_ = value_;
      if (name_ == "access_type") access_ = value_;
    } else {
      return;
    }
    if (writes) one_.read_only = false;
  }
  void add_client(const std::string& client) {
    if (one_.clients.size() < kMaxClients) one_.clients += (one_.clients.empty() ? "" : " ") + client;
  }

  bool is_export() const { return blocks_.size() == 1 && blocks_[0] == "export"; }
  bool is_client() const { return blocks_.size() == 2 && blocks_[0] == "export" && blocks_[1] == "client"; }

  Tokens tokens_;
  const std::string& source_;
  GaneshaConfiguration out_;
  std::vector<std::string> blocks_;
  std::size_t too_deep_ = 0;
  Export one_;
  std::string name_, value_, client_, access_, export_access_;
  bool has_key_ = false, including_ = false;
};

}  // namespace

GaneshaConfiguration parse_ganesha(std::string_view text, const std::string& source) {
  return Reader(text, source).read();
}

}  // namespace underway::inspection::detail
