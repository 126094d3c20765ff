#include "oci/pull/http.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <exception>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::oci::pull {
namespace {

struct Exchange {
  CURL* curl;
  Answer& answer;
  const Sink& sink;
  std::size_t limit;
  bool started = false, too_large = false, refused = false;
  std::exception_ptr failure = {};
};

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  const std::string_view line(bytes, size * count);
  // Headers of an interim answer (100, or a proxy's) do not belong to this one.
  if (line.starts_with("HTTP/")) exchange.answer.headers.clear();
  if (const auto colon = line.find(':'); colon != std::string_view::npos && exchange.answer.headers.size() < 200)
    exchange.answer.headers[lower(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
  return line.size();
}

std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  const std::string_view piece(bytes, size * count);
  if (exchange.answer.status == 0) curl_easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &exchange.answer.status);
  const bool good = exchange.answer.status / 100 == 2;
  try {
    if (good && exchange.sink) {
      exchange.refused = (!std::exchange(exchange.started, true) && !exchange.sink(exchange.answer, {})) ||
                         !exchange.sink(exchange.answer, piece);
      return exchange.refused ? 0 : piece.size();
    }
  } catch (...) {
    exchange.failure = std::current_exception();
    return 0;
  }
  if (exchange.answer.body.size() + piece.size() <= exchange.limit) {
    exchange.answer.body += piece;
    return piece.size();
  }
  // Nobody needs all of an error page.
  if (!good) return piece.size();
  exchange.too_large = true;
  return 0;
}

Error transfer_error(CURLcode result, const std::string& url, const char* reason) {
  const Code code = result == CURLE_OPERATION_TIMEDOUT         ? Code::timeout
                    : result == CURLE_PEER_FAILED_VERIFICATION ? Code::denied
                    : result == CURLE_SSL_CACERT_BADFILE       ? Code::invalid
                                                               : Code::unavailable;
  Error error(code, fmt::format("cannot get '{}'", url));
  error.because(*reason != '\0' ? reason : curl_easy_strerror(result));
  if (code == Code::denied) error.advise("trust its authority with ca_file, or do without: tls_verify = false");
  return error;
}

}  // namespace

std::string Answer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Http::Http(const PullRequest& request) : request_(request), handle_(curl_easy_init(), &curl_easy_cleanup) {
  if (!handle_) throw Error(Code::internal, "cannot prepare libcurl");
}

Answer Http::ask(const Ask& ask, const Sink& sink) {
  CURL* curl = handle_.get();
  curl_easy_reset(curl);  // options alone: connections stay
  curl_slist* list = nullptr;
  for (const auto& header : ask.headers) list = curl_slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, &curl_slist_free_all);
  std::array<char, CURL_ERROR_SIZE> reason{};
  Answer answer;
  Exchange exchange{curl, answer, sink, ask.body_limit};
  const auto seconds = [](Duration span) {
    return static_cast<long>(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(span).count()));
  };
  curl_easy_setopt(curl, CURLOPT_URL, ask.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, seconds(request_.patience.connect));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(request_.patience.stall_bytes));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, seconds(request_.patience.stall));
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 512L * 1024);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "underway-pull");
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, request_.tls_verify ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, request_.tls_verify ? 2L : 0L);
  if (!request_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, request_.ca_file.c_str());
  if (!ask.form.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(ask.form.size()));
    curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, ask.form.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  const CURLcode result = curl_easy_perform(curl);
  if (exchange.failure) std::rethrow_exception(exchange.failure);
  if (exchange.too_large)
    throw Error(Code::too_large, fmt::format("the answer of '{}' is too large", ask.url))
        .because("more than " + human_bytes(ask.body_limit));
  if (result != CURLE_OK && !exchange.refused) throw transfer_error(result, ask.url, reason.data());
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  char* redirect = nullptr;
  curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) answer.redirect = redirect;
  return answer;
}

}  // namespace underway::oci::pull
