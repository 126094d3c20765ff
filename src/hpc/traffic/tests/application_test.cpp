#include "traffic/packet/application.hpp"

#include <gtest/gtest.h>

#include "traffic/testing/wire.hpp"

namespace underway::traffic::testing {
namespace {

TEST(Application, IsKnownByItsFirstBytes) {
  struct Case {
    std::string payload;
    bool tcp;
    bool from_client;
    std::uint16_t port;
    std::string_view name;
    std::string hint;
  };
  const std::vector<Case> cases = {
      {"GET /a/b?token=secret HTTP/1.1", true, true, 80, "http", "GET /a/b"},
      {"HTTP/1.1 200 OK", true, false, 80, "http", ""},
      {std::string("\x16\x03\x01\x02\x00\x01", 6), true, true, 443, "tls", ""},
      {"SSH-2.0-OpenSSH_9.2\r\n", true, false, 22, "ssh", "SSH-2.0-OpenSSH_9.2"},
      {"220 mgmt ESMTP Postfix", true, false, 25, "smtp", ""},
      {"220 ProFTPD", true, false, 21, "", ""},
      {"<13>Nov 21 c1 x: y", true, true, 514, "syslog", "priority 13"},
      {"87 <13>1 2026", true, true, 601, "syslog", "priority 13"},
      {"<b>bold</b>", true, true, 1234, "", ""},
      {rpc_call(100'003, 3), true, true, 2049, "nfs", "program 100003 version 3"},
      {rpc_call(100'005, 3).substr(4), false, true, 20048, "mount", "program 100005 version 3"},
      {be32(60) + be16(0x2600) + be16(0) + be16(4003) + be32(10), true, true, 6817, "slurm",
       "protocol 0x2600 message 4003"},
      {be16(0x2600) + be16(0) + be16(2009) + be32(10), true, true, 6817, "slurm", "protocol 0x2600 message 2009"},
      {ntp(3), false, true, 123, "ntp", "version 4"},
      {std::string("\0\x01pxelinux.0\0octet\0", 19), false, true, 69, "tftp", "READ pxelinux.0"},
      {be32(133) + be32(2) + std::string("c1\0\0", 4), false, true, 8649, "ganglia", "host c1"},
      {"", true, true, 80, "", ""},
      {"\x01", false, true, 69, "", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.payload.substr(0, 20));
    const auto found = recognise(c.payload, c.tcp, c.from_client, c.port);
    EXPECT_EQ(found.name, c.name);
    EXPECT_EQ(found.hint, c.hint);
  }
}

TEST(Application, NoPrefixHarms) {
  const std::string all = rpc_call(100'003, 4) + ntp(4) + "GET / <13> SSH-" + be32(133) + be32(255);
  for (std::size_t from = 0; from < all.size(); ++from) {
    for (std::size_t size = 0; from + size <= all.size(); ++size) {
      for (const bool tcp : {false, true}) recognise(std::string_view(all).substr(from, size), tcp, true, 69);
    }
  }
}

TEST(Application, HintsArePrintableAndShort) {
  const auto found = recognise("GET /" + std::string(500, 'x') + "\x1b[31m", true, true, 80);
  EXPECT_LE(found.hint.size(), 90U);
  EXPECT_EQ(recognise("GET /\x1b[31m HTTP/1.1", true, true, 80).hint, "GET /");
}

}  // namespace
}  // namespace underway::traffic::testing
