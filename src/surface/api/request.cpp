#include "api/request.hpp"

#include "base/text.hpp"

namespace underway::api {

Error permission_denied(const acl::Identity& caller, const Need& need) {
  Error error(Code::denied, acl::kPermissionDenied);
  const std::string of = need.path.empty() ? "" : fmt::format(" of '{}'", need.path);
  const std::string in = need.ns.empty() || need.ns == "*" ? "" : fmt::format(" in namespace '{}'", need.ns);
  error.because(fmt::format("this needs {}{}{}", spell(need.right), of, in));
  if (caller.kind == acl::Identity::Kind::anonymous) error.because("no token was sent");
  return error;
}

std::string uuid_prefix_of(const http::Request& request) {
  std::string asked = request.query.find("prefix").value_or("");
  std::string out;
  std::size_t digits = 0;
  for (const char c : lower(asked)) {
    if (c == '-') continue;
    if (std::string_view("0123456789abcdef").find(c) == std::string_view::npos) return asked;
    if (digits == 8 || digits == 12 || digits == 16 || digits == 20) out += '-';
    out += c;
    ++digits;
  }
  return out;
}

void Request::require(const Right& right, std::string ns, std::string path) const {
  Need need{right, std::move(ns), std::move(path)};
  if (!allows(rights(), need)) throw permission_denied(caller(), need);
  if (!caller().is_permanent()) standing->needs.push_back(std::move(need));
}

asio::awaitable<void> Request::about(tables::Scope subject) const {
  if (audit) co_await audit->about(std::move(subject));
}

void Request::made(tables::Scope subject) const {
  if (audit) audit->made(std::move(subject));
}

void Request::tell(std::string text) const {
  if (audit) audit->add(std::move(text));
}

bool NamespaceFilter::operator()(const std::string& ns) {
  if (asked_ != "*") return asked_ == ns;
  const auto& needs = request_.standing->needs;
  if (needs.empty()) return true;  // a caller who may do everything
  const auto [known, fresh] = known_.try_emplace(ns, false);
  if (fresh) known->second = allows(request_.rights(), {needs.front().right, ns, {}});
  return known->second;
}

std::string_view token_of(const http::Request& request) {
  if (const auto token = request.headers.find("X-Nomad-Token")) return trim(*token);
  const auto authorization = request.headers.find("Authorization");
  if (!authorization || authorization->size() < 7 || lower(authorization->substr(0, 7)) != "bearer ") return {};
  return trim(authorization->substr(7));
}

}  // namespace underway::api
