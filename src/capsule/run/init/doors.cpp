#include "run/init/doors.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "run/init/service.hpp"

namespace underway::run::init {
namespace {

/// The first link of every network namespace.
constexpr uint32_t kLoopback = 1;
/// Byte 13 of a TCP header (RFC 9293 §3.1).
constexpr uint32_t kFlagsAt = 13;
constexpr uint8_t kSyn = 0x02, kRst = 0x04, kAck = 0x10;

/// One transaction for nftables, as netlink messages.
class Batch {
 public:
  Batch(const char* table, bool passing) : table_(table), passing_(passing) { control(NFNL_MSG_BATCH_BEGIN); }

  void table(int type) {
    begin(type, type == NFT_MSG_NEWTABLE ? NLM_F_CREATE : 0);
    text(NFTA_TABLE_NAME, table_);
    if (type == NFT_MSG_NEWTABLE && passing_) number(NFTA_TABLE_FLAGS, NFT_TABLE_F_OWNER);
    end();
  }
  void chain(const char* name, uint32_t hook) {
    begin(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    text(NFTA_CHAIN_TABLE, table_);
    text(NFTA_CHAIN_NAME, name);
    const size_t at = open(NFTA_CHAIN_HOOK);
    number(NFTA_HOOK_HOOKNUM, hook);
    number(NFTA_HOOK_PRIORITY, 0);
    close(at);
    text(NFTA_CHAIN_TYPE, "filter");
    end();
  }
  /// Drops what passes another link than the loopback (`link`: by which key of the packet), is TCP, and has of the
  /// flags `mask` those of `value`.
  void drop(const char* chain, uint32_t link, uint8_t mask, uint8_t value) {
    begin(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    text(NFTA_RULE_TABLE, table_);
    text(NFTA_RULE_CHAIN, chain);
    const size_t list = open(NFTA_RULE_EXPRESSIONS);
    meta(link);
    compare(NFT_CMP_NEQ, &kLoopback, sizeof kLoopback);
    const uint8_t tcp = IPPROTO_TCP;
    meta(NFT_META_L4PROTO);
    compare(NFT_CMP_EQ, &tcp, 1);
    flags(mask);
    compare(NFT_CMP_EQ, &value, 1);
    verdict(NF_DROP);
    close(list);
    end();
  }
  /// 0 or an error number.
  int commit(int fd) {
    control(NFNL_MSG_BATCH_END);
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    int problem = 0;
    if (sendto(fd, bytes_, size_, 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) problem = errno;
    // The kernel has done it all, and said what it refuses, when sendto returns.
    alignas(nlmsghdr) char answer[4096];
    while (problem == 0) {
      const ssize_t size = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
      if (size <= 0) break;
      auto left = static_cast<unsigned>(size);
      for (auto* message = reinterpret_cast<nlmsghdr*>(answer); NLMSG_OK(message, left);
           message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_type == NLMSG_ERROR && problem == 0)
          problem = -static_cast<nlmsgerr*>(NLMSG_DATA(message))->error;
      }
    }
    return problem;
  }

 private:
  void* put(size_t size) {
    void* at = bytes_ + size_;
    size_ += NLMSG_ALIGN(size);
    return at;
  }
  nlmsghdr* message(int type, int flags, uint8_t family, uint16_t resource) {
    auto* header = static_cast<nlmsghdr*>(put(sizeof(nlmsghdr)));
    header->nlmsg_type = static_cast<uint16_t>(type);
    header->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    header->nlmsg_seq = ++sequence_;
    auto* generic = static_cast<nfgenmsg*>(put(sizeof(nfgenmsg)));
    generic->nfgen_family = family;
    generic->version = NFNETLINK_V0;
    generic->res_id = htons(resource);
    return header;
  }
  void control(int type) {
    nlmsghdr* header = message(type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    header->nlmsg_len = sizeof(nlmsghdr) + sizeof(nfgenmsg);
  }
  void begin(int type, int flags) {
    begun_ = size_;
    message(NFNL_SUBSYS_NFTABLES << 8 | type, flags, NFPROTO_INET, 0);
  }
  void end() { reinterpret_cast<nlmsghdr*>(bytes_ + begun_)->nlmsg_len = static_cast<uint32_t>(size_ - begun_); }

  void attribute(int type, const void* data, size_t size) {
    auto* header = static_cast<nlattr*>(put(sizeof(nlattr)));
    header->nla_type = static_cast<uint16_t>(type);
    header->nla_len = static_cast<uint16_t>(sizeof(nlattr) + size);
    memcpy(put(size), data, size);
  }
  void text(int type, const char* value) { attribute(type, value, strlen(value) + 1); }
  void number(int type, uint32_t value) {
    value = htonl(value);
    attribute(type, &value, sizeof value);
  }
  size_t open(int type) {
    const size_t at = size_;
    static_cast<nlattr*>(put(sizeof(nlattr)))->nla_type = static_cast<uint16_t>(type | NLA_F_NESTED);
    return at;
  }
  void close(size_t at) { reinterpret_cast<nlattr*>(bytes_ + at)->nla_len = static_cast<uint16_t>(size_ - at); }

  struct Expression {
    size_t item, data;
  };
  Expression expression(const char* name) {
    const size_t item = open(NFTA_LIST_ELEM);
    text(NFTA_EXPR_NAME, name);
    return {item, open(NFTA_EXPR_DATA)};
  }
  void done(const Expression& expr) {
    close(expr.data);
    close(expr.item);
  }
  void value(int type, const void* data, size_t size) {
    const size_t at = open(type);
    attribute(NFTA_DATA_VALUE, data, size);
    close(at);
  }
  void meta(uint32_t key) {
    const Expression expr = expression("meta");
    number(NFTA_META_KEY, key);
    number(NFTA_META_DREG, NFT_REG_1);
    done(expr);
  }
  void compare(uint32_t how, const void* data, size_t size) {
    const Expression expr = expression("cmp");
    number(NFTA_CMP_SREG, NFT_REG_1);
    number(NFTA_CMP_OP, how);
    value(NFTA_CMP_DATA, data, size);
    done(expr);
  }
  void flags(uint8_t mask) {
    const Expression load = expression("payload");
    number(NFTA_PAYLOAD_DREG, NFT_REG_1);
    number(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
    number(NFTA_PAYLOAD_OFFSET, kFlagsAt);
    number(NFTA_PAYLOAD_LEN, 1);
    done(load);
    const uint8_t nothing = 0;
    const Expression mask_off = expression("bitwise");
    number(NFTA_BITWISE_SREG, NFT_REG_1);
    number(NFTA_BITWISE_DREG, NFT_REG_1);
    number(NFTA_BITWISE_LEN, 1);
    value(NFTA_BITWISE_MASK, &mask, 1);
    value(NFTA_BITWISE_XOR, &nothing, 1);
    done(mask_off);
  }
  void verdict(uint32_t code) {
    const Expression expr = expression("immediate");
    number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    const size_t data = open(NFTA_IMMEDIATE_DATA);
    const size_t inner = open(NFTA_DATA_VERDICT);
    number(NFTA_VERDICT_CODE, code);
    close(inner);
    close(data);
    done(expr);
  }

  const char* table_;
  bool passing_;
  alignas(nlmsghdr) char bytes_[4096] = {};
  size_t size_ = 0, begun_ = 0;
  uint32_t sequence_ = 0;
};

}  // namespace

void Doors::set(Door door) {
  if (door == door_) return;
  Batch batch(table_, passing_);
  // Added first, so that deleting what is not there does not fail: a service may have flushed all tables.
  batch.table(NFT_MSG_NEWTABLE);
  batch.table(NFT_MSG_DELTABLE);
  if (door != Door::open) {
    batch.table(NFT_MSG_NEWTABLE);
    batch.chain("output", NF_INET_LOCAL_OUT);
    batch.drop("output", NFT_META_OIF, kRst, kRst);
  }
  if (door == Door::closed) {
    batch.chain("input", NF_INET_LOCAL_IN);
    batch.drop("input", NFT_META_IIF, kSyn | kAck, kSyn);
  }
  door_ = door;
  // It stays open: whoever closes it waits until the kernel has cleared away what was deleted (10 ms).
  if (socket_ < 0) socket_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  const int problem = socket_ < 0 ? errno : batch.commit(socket_);
  if (problem == 0 || complained_) return;
  complained_ = true;
  say("clients are refused while a service is away, as they cannot be held: nftables: %s", strerror(problem));
}

namespace {

/// linux/tcp.h has the flags of the header, netinet/tcp.h the states; they do not go together.
enum State : unsigned {
  established = 1,
  syn_received = 3,
  fin_wait_1 = 4,
  close_wait = 8,
  last_ack = 9,
  listening = 10,
  closing = 11
};
/// A client that has connected and says nothing has this long to begin.
constexpr unsigned kBeginMs = 300;
/// So much and never a word back is no question, but a stream: records for a log. The largest script that sbatch takes
/// is half of it (slurm.conf(5), max_script_size).
constexpr uint64_t kStreamBytes = 8U << 20;

uint8_t listened[65536 / 8];
bool is_listened(uint16_t port) { return (listened[port / 8] & 1U << port % 8) != 0; }

/// With itself: by an address of its own, or the loopback's.
bool is_inside(const inet_diag_msg& socket_info) {
  constexpr uint8_t kLoopback6[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (memcmp(socket_info.id.idiag_src, socket_info.id.idiag_dst, sizeof socket_info.id.idiag_src) == 0) return true;
  if (socket_info.idiag_family == AF_INET) return (ntohl(socket_info.id.idiag_dst[0]) >> 24) == 127;
  return memcmp(socket_info.id.idiag_dst, kLoopback6, sizeof kLoopback6) == 0;
}

bool is_unanswered(const inet_diag_msg& socket_info, const tcp_info* info) {
  if (socket_info.idiag_state != established || info == nullptr)
    return true;  // it begins or ends, and what it said is on its way
  if (info->tcpi_bytes_sent == 0 && info->tcpi_bytes_received > kStreamBytes) return false;
  if (socket_info.idiag_rqueue != 0 || socket_info.idiag_wqueue != 0) return true;
  // The times are those since then, in steps of a few milliseconds.
  if (info->tcpi_bytes_received == 0 && info->tcpi_bytes_sent == 0) return info->tcpi_last_data_recv < kBeginMs;
  if (info->tcpi_last_data_recv == info->tcpi_last_data_sent) return info->tcpi_bytes_sent == 0;
  return info->tcpi_last_data_recv < info->tcpi_last_data_sent;
}

/// Calls `look` for each TCP socket of these states.
template <class Look>
void for_each_socket(int fd, uint8_t family, uint32_t states, Look&& look) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } query{};
  query.header.nlmsg_len = sizeof query;
  query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  query.request.sdiag_family = family;
  query.request.sdiag_protocol = IPPROTO_TCP;
  query.request.idiag_states = states;
  query.request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  if (send(fd, &query, sizeof query, 0) < 0) return;
  alignas(nlmsghdr) static char block[32768];
  for (;;) {
    const ssize_t size = recv(fd, block, sizeof block, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    auto left = static_cast<unsigned>(size);
    for (auto* message = reinterpret_cast<nlmsghdr*>(block); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return;
      const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(message));
      auto* attribute = const_cast<rtattr*>(reinterpret_cast<const rtattr*>(found + 1));
      auto more = static_cast<unsigned>(message->nlmsg_len - NLMSG_LENGTH(sizeof *found));
      tcp_info info{};
      bool told = false;
      for (; RTA_OK(attribute, more); attribute = RTA_NEXT(attribute, more)) {
        if (attribute->rta_type != INET_DIAG_INFO) continue;
        const size_t length = RTA_PAYLOAD(attribute);
        memcpy(&info, RTA_DATA(attribute), length < sizeof info ? length : sizeof info);
        told = true;
      }
      look(*found, told ? &info : nullptr);
    }
  }
}

}  // namespace

int count_unanswered() {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return 0;
  memset(listened, 0, sizeof listened);
  int count = 0;
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    for_each_socket(fd, family, 1U << listening, [](const inet_diag_msg& socket_info, const tcp_info*) {
      const uint16_t port = ntohs(socket_info.id.idiag_sport);
      listened[port / 8] = static_cast<uint8_t>(listened[port / 8] | 1U << port % 8);
    });
  }
  constexpr uint32_t kUnderWay =
      1U << established | 1U << syn_received | 1U << fin_wait_1 | 1U << close_wait | 1U << last_ack | 1U << closing;
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    for_each_socket(fd, family, kUnderWay, [&count](const inet_diag_msg& socket_info, const tcp_info* info) {
      if (is_listened(ntohs(socket_info.id.idiag_sport)) && !is_inside(socket_info) && is_unanswered(socket_info, info))
        ++count;
    });
  }
  close(fd);
  return count;
}

int run_alone(char** command) {
  Doors doors("underway-alone", true);
  doors.set(Door::closed);
  for (const int64_t until = now_ms() + kAnswerMs; count_unanswered() > 0 && now_ms() < until;)
    poll(nullptr, 0, static_cast<int>(kLookMs));
  const pid_t pid = fork();
  if (pid == 0) {
    execvp(command[0], command);
    dprintf(2, "cannot run '%s': %s\n", command[0], strerror(errno));
    _exit(127);
  }
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (pid < 0) return 126;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace underway::run::init
