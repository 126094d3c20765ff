#include "rpmmd/detail/xml.hpp"

#include <expat.h>

#include <exception>
#include <memory>

#include "base/error.hpp"

namespace underway::rpmmd::detail {
namespace {

/// Metadata have six levels.
constexpr unsigned kDeepest = 32;
constexpr std::size_t kPiece = 64U << 20;

Error refused(std::string why) { return Error(Code::invalid, "it is no metadata").because(std::move(why)); }

/// A prefix that the documents which we write declare, or none.
void check_prefix(std::string_view name) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos) return;
  const auto prefix = name.substr(0, colon);
  if (prefix != "rpm" && prefix != "xml" && prefix != "xmlns")
    throw refused(fmt::format("'{}' has a prefix that is none of rpm-md", name.substr(0, 64)));
}

class Parser {
 public:
  explicit Parser(Handler& handler) : parser_(XML_ParserCreate("UTF-8"), &XML_ParserFree), handler_(handler) {
    if (!parser_) throw Error(Code::exhausted, "cannot read XML").because("there is no memory for it");
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), &Parser::on_begin, &Parser::on_end);
    XML_SetCharacterDataHandler(parser_.get(), &Parser::on_text);
    XML_SetStartDoctypeDeclHandler(parser_.get(), &Parser::on_doctype);
  }

  void read(std::string_view text, std::string_view what) {
    bool last = false;
    while (!last) {
      const auto piece = text.substr(0, kPiece);
      text.remove_prefix(piece.size());
      last = text.empty();
      const auto status = XML_Parse(parser_.get(), piece.data(), static_cast<int>(piece.size()), last ? 1 : 0);
      if (failure_) rethrow(what);
      if (status != XML_STATUS_OK)
        throw Error(Code::invalid, fmt::format("cannot read {}", what))
            .because(fmt::format("{}: {}", place(), XML_ErrorString(XML_GetErrorCode(parser_.get()))));
    }
  }

 private:
  std::string place() const {
    return fmt::format("line {}", line_ != 0 ? line_ : XML_GetCurrentLineNumber(parser_.get()));
  }

  [[noreturn]] void rethrow(std::string_view what) const {
    try {
      std::rethrow_exception(failure_);
    } catch (Error& e) {
      e.while_doing(fmt::format("reading {}, {}", what, place()));
      throw;
    }
  }

  /// Nothing is thrown through expat, which is C.
  template <class Work>
  static void guarded(void* self, Work work) {
    auto& parser = *static_cast<Parser*>(self);
    if (parser.failure_) return;
    try {
      work(parser);
    } catch (...) {
      parser.failure_ = std::current_exception();
      parser.line_ = XML_GetCurrentLineNumber(parser.parser_.get());
      XML_StopParser(parser.parser_.get(), XML_FALSE);
    }
  }
  std::size_t offset() const { return static_cast<std::size_t>(XML_GetCurrentByteIndex(parser_.get())); }

  static void on_begin(void* self, const char* name, const char** attributes) {
    guarded(self, [&](Parser& parser) {
      if (++parser.depth_ > kDeepest) throw refused(fmt::format("it has more than {} levels", kDeepest));
      check_prefix(name);
      for (const char** pair = attributes; *pair != nullptr; pair += 2) check_prefix(*pair);
      parser.handler_.begin(parser.depth_, name, Attributes(attributes), parser.offset());
    });
  }
  static void on_end(void* self, const char* name) {
    guarded(self, [&](Parser& parser) {
      const auto count = static_cast<std::size_t>(XML_GetCurrentByteCount(parser.parser_.get()));
      parser.handler_.end(parser.depth_--, name, parser.offset() + count);
    });
  }
  static void on_text(void* self, const char* text, int size) {
    auto& parser = *static_cast<Parser*>(self);
    if (parser.handler_.sink() == nullptr || parser.failure_) return;
    guarded(self, [&](Parser& p) { p.handler_.sink()->append(text, static_cast<std::size_t>(size)); });
  }
  static void on_doctype(void* self, const char* /*name*/, const char* /*system*/, const char* /*public_id*/,
                         int /*internal*/) {
    guarded(self, [](Parser&) { throw refused("it has a document type, by which entities could grow without end"); });
  }

  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_;
  Handler& handler_;
  std::exception_ptr failure_;
  unsigned long line_ = 0;
  unsigned depth_ = 0;
};

}  // namespace

std::optional<std::string_view> Attributes::find(std::string_view name) const {
  for (const char** pair = pairs_; *pair != nullptr; pair += 2)
    if (name == *pair) return std::string_view(pair[1]);
  return std::nullopt;
}

void read_xml(std::string_view text, std::string_view what, Handler& handler) { Parser(handler).read(text, what); }

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_attribute(std::string_view text) {
  std::string out;
  for (const char c : escape(text)) {
    switch (c) {
      case '"':
        out += "&quot;";
        break;
      case '\t':
        out += "&#9;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace underway::rpmmd::detail
