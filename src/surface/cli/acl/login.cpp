// `login`: a token for who is vouched for. By OIDC a browser goes to the provider and comes back to a small server on
// loopback; by JWT a token is read from a file or standard input, and never from what is typed: that is seen by whoever
// lists processes.
#include <spawn.h>

#include "async/event.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "http/server.hpp"

extern char** environ;

namespace underway::cli {
namespace {

using boost::json::object;

constexpr Duration kLoginPatience = std::chrono::minutes(5);
constexpr const char* kCallback = "/oidc/callback";

struct Method {
  std::string name, type;
};

/// The one that is asked for; else the default one, of the type that is asked for.
Method choose(sdk::Client& client, const Arguments& arguments) {
  const std::string name = arguments.get("method"), type = upper(arguments.get("type"));
  const auto methods = ask(client, "GET", "/v1/acl/auth-methods");
  for (const auto& method : methods.as_array()) {
    const bool meant = name.empty() ? method.at("Default").as_bool() : json::text_at(method, "Name") == name;
    if (meant && (type.empty() || json::text_at(method, "Type") == type))
      return {json::text_at(method, "Name"), json::text_at(method, "Type")};
  }
  if (!name.empty())
    throw Error(Code::not_found,
                fmt::format("there is no auth method '{}'{}", name, type.empty() ? "" : " of type " + type));
  throw Error(Code::invalid, "Must specify an auth method name and type, no default found");
}

/// What the browser brings back.
struct Callback {
  http::Query query;
  bool came = false;
  async::Event arrived;
};

async::awaitable<http::Response> answer_browser(std::shared_ptr<Callback> callback, http::Request request) {
  callback->query = std::move(request.query);
  callback->came = true;
  callback->arrived.notify_all();
  http::Response response =
      http::text(200, "You are logged in, unless your terminal says something else. This page can be closed.\n");
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

async::awaitable<void> wait_for(std::shared_ptr<Callback> callback, async::SteadyTime deadline) {
  while (!callback->came && std::chrono::steady_clock::now() < deadline)
    co_await callback->arrived.wait_until(deadline);
}

/// Best effort: on a login node there is no browser, and the address is told anyway.
void open_browser(const std::string& url) {
  if (!is_terminal(2) || std::getenv("DISPLAY") == nullptr) return;
  std::string program = "xdg-open", address = url;
  char* const words[] = {program.data(), address.data(), nullptr};
  pid_t pid = 0;
  ::posix_spawnp(&pid, program.c_str(), nullptr, nullptr, words, environ);  // not waited for: some stay
}

boost::json::value by_oidc(sdk::Client& client, const Method& method, const Arguments& arguments) {
  auto endpoint = http::parse_endpoint(arguments.get("oidc-callback-addr", "localhost:4649"));
  const std::string host = endpoint.host;
  if (host == "localhost") endpoint.host = "127.0.0.1";
  if (endpoint.host != "127.0.0.1" && endpoint.host != "::1")
    throw Error(Code::invalid, "-oidc-callback-addr must be on this machine: localhost, 127.0.0.1 or [::1]");
  async::Loop loop;
  const auto callback = std::make_shared<Callback>();
  http::Router router;
  router.add("GET", kCallback, "callback",
             [callback](http::Request request) { return answer_browser(callback, std::move(request)); });
  http::Server server(loop.executor(), router);
  const auto listening = server.listen(endpoint);
  const std::string back = fmt::format("http://{}:{}{}", host == "::1" ? "[::1]" : host, listening.port, kCallback);
  object body{{"AuthMethodName", method.name}, {"RedirectURI", back}, {"ClientNonce", SystemIds().uuid()}};
  const std::string url = json::text_at(ask(client, "PUT", "/v1/acl/oidc/auth-url", body), "AuthURL");
  say("Complete the login via your OIDC provider. Open this address in a browser:\n\n    " + url + "\n");
  open_browser(url);
  loop.run_until_done(wait_for(callback, async::deadline_in(kLoginPatience)));
  loop.run_until_done(server.stop(std::chrono::seconds(1)));
  if (!callback->came) throw Error(Code::timeout, "nobody came back from the provider within five minutes");
  if (const auto error = callback->query.find("error"))
    throw Error(Code::denied, "the provider refused the login")
        .because(*error + ": " + callback->query.find("error_description").value_or(""));
  body["State"] = callback->query.find("state").value_or("");
  body["Code"] = callback->query.find("code").value_or("");
  return ask(client, "PUT", "/v1/acl/oidc/complete-auth", body);
}

boost::json::value by_jwt(sdk::Client& client, const Method& method, const Arguments& arguments) {
  if (const auto typed = arguments.find("login-token"))
    return ask(client, "PUT", "/v1/acl/login", object{{"AuthMethodName", method.name}, {"LoginToken", *typed}});
  if (arguments.positional().empty())
    throw Error(Code::invalid, "the JWT is missing").advise("name a file that holds it, or - for standard input");
  const std::string& source = arguments.positional().front();
  if (source.starts_with("eyJ"))
    throw Error(Code::invalid, "a JWT is not given as an argument: others can see it")
        .advise("name a file that holds it, or - for standard input");
  const std::string token(trim(read_input(source)));
  return ask(client, "PUT", "/v1/acl/login", object{{"AuthMethodName", method.name}, {"LoginToken", token}});
}

std::string policies_of(const boost::json::value& token) {
  return "[" + join(json::decode<std::vector<std::string>>(token.at("Policies")), " ") + "]";
}

std::string roles_text(const boost::json::value& token) {
  const auto* roles = token.at("Roles").if_array();  // null when there are none
  if (roles == nullptr || roles->empty()) return "<none>\n";
  Table table({"ID", "Name"});
  for (const auto& role : *roles) table.add({json::text_at(role, "ID"), json::text_at(role, "Name")});
  return table.text(0);
}

std::string index_text(const boost::json::value& token, const char* name) {
  const auto* found = token.get_object().if_contains(name);
  return found == nullptr ? "0" : boost::json::serialize(*found);
}

std::string or_none(std::string text) { return text.empty() ? "<none>" : text; }

int run_login(const Arguments& arguments) {
  const auto [type, method, token] = log_in(arguments);
  if (print_formatted(arguments, token)) return kDone;
  say(fmt::format("Successfully logged in via {} and {}\n", type, method));
  print(token_text(token));
  return kDone;
}

}  // namespace

Login log_in(const Arguments& arguments) {
  auto client = make_client(arguments);
  const Method method = choose(client, arguments);
  return {method.type, method.name,
          method.type == "OIDC" ? by_oidc(client, method, arguments) : by_jwt(client, method, arguments)};
}

std::string token_text(const boost::json::value& token) {
  const bool management = json::text_at(token, "Type") == "management";
  std::vector<std::pair<std::string, std::string>> lines = {
      {"Accessor ID", json::text_at(token, "AccessorID")},
      {"Secret ID", json::text_at(token, "SecretID")},
      {"Name", or_none(json::text_at(token, "Name"))},
      {"Type", json::text_at(token, "Type")},
      {"Global", token.at("Global").as_bool() ? "true" : "false"},
      {"Create Time", json::text_at(token, "CreateTime")},
      {"Expiry Time", or_none(json::text_at(token, "ExpirationTime"))},
      {"Create Index", index_text(token, "CreateIndex")},
      {"Modify Index", index_text(token, "ModifyIndex")},
      {"Policies", management ? "n/a" : policies_of(token)}};
  if (management) lines.emplace_back("Roles", "n/a");
  return key_values(lines) + (management ? "" : "\nRoles\n" + roles_text(token));
}

const Command& login_command() {
  static const Command command{
      .name = "login",
      .arguments = "[FILE]",
      .summary = "Gets a token from whoever vouches for you.",
      .details =
          "With an OIDC method, tells where to log in, and waits for the browser to come back to "
          "-oidc-callback-addr; that address, with /oidc/callback, must be among the method's "
          "AllowedRedirectURIs. With a JWT method, reads the JWT from FILE, or from standard input when it is -.",
      .examples = {"underway login", "underway login -method ci - < token.jwt"},
      .flags = {{"method", "NAME", "The auth method; else the default one."},
                {"type", "OIDC|JWT", "Of which type the default is looked for."},
                {"oidc-callback-addr", "ADDR", "Where the browser comes back to; localhost:4649."},
                {"json", "", "As JSON."},
                kTemplate},
      .most = 1,
      .run = run_login};
  return command;
}

}  // namespace underway::cli
