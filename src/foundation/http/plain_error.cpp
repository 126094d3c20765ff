#include "http/plain_error.hpp"

#include "base/text.hpp"
#include "http/client.hpp"

namespace underway::http {

namespace {

constexpr std::string_view kAdvice = "\ndo: ";

}  // namespace

std::string plain_text(const Error& error) {
  return error.advice().empty() ? error.one_line() : error.one_line() + std::string(kAdvice) + error.advice();
}

Error parse_plain_error(int status, std::string_view text) {
  text = trim(text);
  const auto at = text.rfind(kAdvice);
  Error error(code_of_status(status), std::string(trim(text.substr(0, at))));
  if (at != std::string_view::npos) error.advise(std::string(text.substr(at + kAdvice.size())));
  return error;
}

}  // namespace underway::http
