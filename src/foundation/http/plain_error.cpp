#include "http/plain_error.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "http/client.hpp"

namespace underway::http {

namespace {

constexpr std::string_view kAdvice = "\ndo: ";
constexpr const char* kProblem = "application/problem+json";

boost::json::array list_of(const std::vector<std::string>& texts) {
  return boost::json::array(texts.begin(), texts.end());
}

std::string problem_details(const Error& error) {
  const int status = http_status(error.code());
  return boost::json::serialize(boost::json::object{{"type", "about:blank"},
                                                    {"title", reason_phrase(status)},
                                                    {"status", status},
                                                    {"detail", error.one_line()},
                                                    {"code", to_string(error.code())},
                                                    {"reasons", list_of(error.reasons())},
                                                    {"activities", list_of(error.activities())},
                                                    {"advice", error.advice()}});
}

}  // namespace

std::string plain_text(const Error& error) {
  return error.advice().empty() ? error.one_line() : error.one_line() + std::string(kAdvice) + error.advice();
}

ErrorForm error_form(const Headers& asked) {
  return asked.has_token("Accept", kProblem) ? ErrorForm::problem : ErrorForm::text;
}

Response error_response(const Error& error, ErrorForm form) {
  if (form == ErrorForm::text) return text(http_status(error.code()), plain_text(error));
  Response response = json(problem_details(error), http_status(error.code()));
  response.headers.set("Content-Type", kProblem);
  return response;
}

Error parse_plain_error(int status, std::string_view text) {
  text = trim(text);
  const auto at = text.rfind(kAdvice);
  Error error(code_of_status(status), std::string(trim(text.substr(0, at))));
  if (at != std::string_view::npos) error.advise(std::string(text.substr(at + kAdvice.size())));
  return error;
}

}  // namespace underway::http
