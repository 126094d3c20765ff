#include "network/resolver.hpp"

#include <gtest/gtest.h>

namespace underway::network {
namespace {

TEST(Resolver, SaysWhatTheGroupSaysAndOtherwiseWhatTheHostSays) {
  const std::string host = "# local\nnameserver 10.0.0.1\nsearch site.org\noptions timeout:1\n";
  EXPECT_EQ(resolver_file(std::nullopt, host), host);
  EXPECT_EQ(resolver_file(model::Dns{{"10.9.9.9", "10.9.9.8"}, {}, {}}, host),
            "# local\nsearch site.org\noptions timeout:1\nnameserver 10.9.9.9\nnameserver 10.9.9.8\n");
  EXPECT_EQ(resolver_file(model::Dns{{}, {"a.org", "b.org"}, {"ndots:2"}}, host),
            "# local\nnameserver 10.0.0.1\nsearch a.org b.org\noptions ndots:2\n");
}

TEST(Resolver, ThatListensOnLoopbackOnlyIsOutOfReach) {
  EXPECT_TRUE(is_local_resolver("nameserver 127.0.0.53\noptions edns0\n"));
  EXPECT_FALSE(is_local_resolver("nameserver 127.0.0.53\nnameserver 10.0.0.1\n"));
  EXPECT_FALSE(is_local_resolver("search site.org\n"));
}

TEST(Hosts, HoldTheAllocationsOwnName) {
  EXPECT_EQ(hosts_file("172.26.64.2", "web"),
            "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n172.26.64.2 web\n");
}

}  // namespace
}  // namespace underway::network
