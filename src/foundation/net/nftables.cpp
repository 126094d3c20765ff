#include "net/nftables.hpp"

#include <fcntl.h>
#include <nftables/libnftables.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::net {
namespace {

namespace json = boost::json;

struct Answer {
  bool ok = false;
  std::string text;  ///< output, or the error message
};

void write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const auto n = ::write(fd, data, size);
    if (n <= 0) return;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
}

/// The child: enters the namespace, runs the command, writes one status byte and the text, and is gone.
[[noreturn]] void answer_in_child(int fd, int network, const char* command) {
  if (::setns(network, CLONE_NEWNET) != 0) {
    const char* problem = ::strerrordesc_np(errno);
    write_all(fd, "E", 1);
    write_all(fd, problem, std::strlen(problem));
    ::_exit(1);
  }
  nft_ctx* context = nft_ctx_new(NFT_CTX_DEFAULT);
  nft_ctx_output_set_flags(context, NFT_CTX_OUTPUT_JSON);
  nft_ctx_buffer_output(context);
  nft_ctx_buffer_error(context);
  const bool ok = nft_run_cmd_from_buffer(context, command) == 0;
  const char* text = ok ? nft_ctx_get_output_buffer(context) : nft_ctx_get_error_buffer(context);
  write_all(fd, ok ? "K" : "E", 1);
  if (text != nullptr) write_all(fd, text, std::strlen(text));
  ::_exit(0);
}

Answer ask(const Namespace& in, const std::string& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw errno_error(errno, "cannot open a pipe for nftables");
  const pid_t child = ::fork();
  if (child == 0) answer_in_child(ends[1], in.fd(), command.c_str());
  const int problem = errno;
  ::close(ends[1]);
  std::string received;
  if (child > 0) {
    char block[4096];
    for (;;) {
      const auto n = ::read(ends[0], block, sizeof block);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      received.append(block, static_cast<std::size_t>(n));
    }
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  if (child < 0) throw errno_error(problem, "cannot start a process for nftables");
  if (received.empty()) return {false, "the nftables process died"};
  return {received[0] == 'K', received.substr(1)};
}

json::object table_object(const std::string& table) { return {{"family", "ip"}, {"name", table}}; }

json::object in_prefix(const Cidr& cidr, bool inside, std::string_view field) {
  return {{"match",
           {{"op", inside ? "==" : "!="},
            {"left", {{"payload", {{"protocol", "ip"}, {"field", field}}}}},
            {"right", {{"prefix", {{"addr", to_string(cidr.network().ip)}, {"len", cidr.prefix}}}}}}}};
}

}  // namespace

std::string run_nftables(const Namespace& in, const std::string& json) {
  auto answer = ask(in, json);
  if (!answer.ok) {
    throw Error(Code::invalid, fmt::format("nftables refused a change in network namespace '{}'", in.label()))
        .because(std::string(trim(answer.text)));
  }
  return std::move(answer.text);
}

void set_masquerade(const Namespace& in, const std::string& table, const std::vector<Cidr>& sources) {
  // One transaction: "add" makes the delete safe when there is none, so that a repeat replaces and never doubles.
  json::array steps = {{{"add", {{"table", table_object(table)}}}},
                       {{"delete", {{"table", table_object(table)}}}},
                       {{"add", {{"table", table_object(table)}}}}};
  const json::object chain = {{"family", "ip"},        {"table", table}, {"name", "postrouting"}, {"type", "nat"},
                              {"hook", "postrouting"}, {"prio", 100},    {"policy", "accept"}};
  steps.push_back({{"add", {{"chain", chain}}}});
  for (const auto& source : sources) {
    const json::array expression = {in_prefix(source, true, "saddr"), in_prefix(source, false, "daddr"),
                                    json::object{{"masquerade", nullptr}}};
    steps.push_back(
        {{"add", {{"rule", {{"family", "ip"}, {"table", table}, {"chain", "postrouting"}, {"expr", expression}}}}}});
  }
  run_nftables(in, json::serialize(json::object{{"nftables", steps}}));
}

bool remove_table(const Namespace& in, const std::string& table) {
  const auto tables = list_tables(in);
  if (std::find(tables.begin(), tables.end(), table) == tables.end()) return false;
  const json::array steps = {{{"add", {{"table", table_object(table)}}}},
                             {{"delete", {{"table", table_object(table)}}}}};
  run_nftables(in, json::serialize(json::object{{"nftables", steps}}));
  return true;
}

std::vector<std::string> list_tables(const Namespace& in) {
  const auto text = run_nftables(in, R"({"nftables":[{"list":{"tables":{"family":"ip"}}}]})");
  std::vector<std::string> names;
  boost::system::error_code problem;
  const auto answer = json::parse(text, problem);
  if (problem) throw Error(Code::internal, "nftables answered with invalid JSON").because(problem.message());
  for (const auto& item : answer.at("nftables").as_array()) {
    if (const auto* table = item.as_object().if_contains("table")) {
      names.emplace_back(table->at("name").as_string());
    }
  }
  return names;
}

}  // namespace underway::net
