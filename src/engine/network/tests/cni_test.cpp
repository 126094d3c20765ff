// The CNI specification's conversation, with plugins that are shell scripts.
#include "network/cni.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"

namespace underway::network::cni {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CniTest : public ::testing::Test {
 protected:
  CniTest() {
    if (::mkdtemp(directory_.data()) == nullptr) throw errno_error(errno, "cannot make a directory");
    os::make_directories(path("bin"));
    os::make_directories(path("config"));
    const std::string answer =
        R"(echo '{"cniVersion":"0.4.0","interfaces":[{"name":"br0"},{"name":"eth0","sandbox":"/x"}],)"
        R"("ips":[{"version":"4","address":"10.9.9.1/24","interface":0},)"
        R"({"version":"4","address":"10.9.9.7/24","interface":1}],"dns":{"nameservers":["10.9.9.53"]}}')";
    plugin("first", answer);
    plugin("second", answer);
    put("net.conflist", R"({"cniVersion":"0.4.0","name":"lab","plugins":[{"type":"first","bridge":"br0"},)"
                        R"({"type":"second","capabilities":{"portMappings":true}}]})");
  }
  ~CniTest() override { os::remove_tree(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void put(const std::string& name, const std::string& text) { os::write_file(path("config/" + name), text, 0644); }
  /// Notes what it is told in files beside it, and then does `answer`.
  void plugin(const std::string& name, const std::string& answer) {
    os::write_file(path("bin/" + name),
                   "#!/bin/sh\nPATH=/usr/bin:/bin\ncat > $0.$CNI_COMMAND\n"
                   "env | grep ^CNI_ | sort > $0.$CNI_COMMAND.env\necho " +
                       name + " $CNI_COMMAND >> " + path("calls") + "\n[ $CNI_COMMAND = DEL ] && exit 0\n" + answer +
                       "\n",
                   0755);
    ::chmod(path("bin/" + name).c_str(), 0755);
  }
  std::string told(const std::string& file) { return os::read_file(path("bin/" + file)); }
  std::string calls() { return os::find_file(path("calls")).value_or(""); }
  boost::json::object lab() { return get_configuration(path("config"), "lab"); }

  std::string directory_ = "/tmp/underway-cni-XXXXXX";
  Container container{"6d3f", "/run/netns/x", "eth0", {{"K8S", "no"}}, {{"http", 20001, 80, "10.0.0.1"}}};
};

TEST_F(CniTest, APluginIsToldTheSpecificationsThings) {
  add(lab(), container, path("bin"));
  EXPECT_EQ(told("first.ADD.env"),
            "CNI_ARGS=IgnoreUnknown=true;K8S=no\nCNI_COMMAND=ADD\nCNI_CONTAINERID=6d3f\n"
            "CNI_IFNAME=eth0\nCNI_NETNS=/run/netns/x\nCNI_PATH=" +
                path("bin") + "\n");
  const auto first = json::parse(told("first.ADD"));
  EXPECT_EQ(first.at("name").as_string(), "lab");
  EXPECT_EQ(first.at("cniVersion").as_string(), "0.4.0");
  EXPECT_EQ(first.at("bridge").as_string(), "br0");
  EXPECT_FALSE(first.as_object().contains("prevResult"));
  const auto second = json::parse(told("second.ADD"));
  EXPECT_EQ(second.at("prevResult").at("ips").as_array().size(), 2u);
  EXPECT_EQ(second.at("runtimeConfig").at("portMappings").at(0).at("hostPort").to_number<int>(), 20001);
  EXPECT_EQ(second.at("runtimeConfig").at("portMappings").at(0).at("containerPort").to_number<int>(), 80);
}

TEST_F(CniTest, TheResultIsTheLastPluginsAndTheAddressTheContainers) {
  const auto status = status_of(add(lab(), container, path("bin")), "eth0");
  EXPECT_EQ(status.address, "10.9.9.7");
  EXPECT_EQ(status.interface_name, "eth0");
  ASSERT_TRUE(status.dns);
  EXPECT_THAT(status.dns->servers, ElementsAre("10.9.9.53"));
}

TEST_F(CniTest, AtTheEndTheLastPluginIsCalledFirstWithTheResult) {
  const auto result = add(lab(), container, path("bin"));
  remove(lab(), container, result, path("bin"));
  EXPECT_EQ(calls(), "first ADD\nsecond ADD\nsecond DEL\nfirst DEL\n");
  EXPECT_TRUE(json::parse(told("first.DEL")).as_object().contains("prevResult"));
}

TEST_F(CniTest, WhatAFailedPluginLeavesIsTakenAwayAndItsWordsAreTold) {
  plugin("second", "echo '{\"code\":11,\"msg\":\"no more addresses\",\"details\":\"try later\"}'; exit 1");
  try {
    add(lab(), container, path("bin"));
    FAIL() << "it was made";
  } catch (const Error& error) {
    EXPECT_THAT(error.one_line(), HasSubstr("CNI plugin 'second' refused ADD"));
    EXPECT_THAT(error.one_line(), HasSubstr("no more addresses: try later"));
  }
  EXPECT_EQ(calls(), "first ADD\nsecond ADD\nsecond DEL\nfirst DEL\n");
}

TEST_F(CniTest, OnePluginAloneIsAListOfOne) {
  put("alone.conf", R"({"cniVersion":"0.4.0","name":"alone","type":"first"})");
  put("broken.conf", "{");
  EXPECT_THAT(list_configurations(path("config")), ElementsAre("alone", "lab"));
  EXPECT_EQ(status_of(add(get_configuration(path("config"), "alone"), container, path("bin")), "eth0").address,
            "10.9.9.7");
}

TEST_F(CniTest, WhatIsMissingIsNamed) {
  const auto refusal = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::not_found);
      return error.one_line();
    }
    return std::string("nothing was refused");
  };
  EXPECT_THAT(refusal([&] { get_configuration(path("config"), "wan"); }),
              HasSubstr("there is no CNI network 'wan': '" + path("config") + "' holds lab"));
  EXPECT_THAT(refusal([&] { add(lab(), container, path("none")); }), HasSubstr("there is no CNI plugin 'first'"));
}

TEST_F(CniTest, APluginsNameIsNoWayOut) {
  put("bad.conf", R"({"cniVersion":"0.4.0","name":"bad","type":"../../bin/sh"})");
  EXPECT_THROW(add(get_configuration(path("config"), "bad"), container, path("bin")), Error);
}

TEST_F(CniTest, AnAnswerWithoutAnAddressIsRefused) {
  EXPECT_THROW(status_of(json::parse("{\"cniVersion\":\"0.4.0\"}"), "eth0"), Error);
  EXPECT_THROW(status_of(nullptr, "eth0"), Error);
  EXPECT_THROW(status_of(json::parse("{\"ips\":[{\"address\":7}]}"), "eth0"), Error);
}

}  // namespace
}  // namespace underway::network::cni
