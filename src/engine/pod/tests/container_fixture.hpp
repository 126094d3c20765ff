#pragma once
/// @file
/// Containers of a small image, by a real runtime.

#include <sys/stat.h>

#include "oci/tests/maker.hpp"
#include "pod/pod.hpp"
#include "pod/runtime.hpp"
#include "pod/tests/pod_fixture.hpp"

namespace underway::pod {

inline constexpr const char* kUsers = "root:x:0:0::/root:/bin/sh\nweb:x:33:34::/srv:/bin/sh\n";

/// A driver `podman` by the runtime that is the parameter, and an image of busybox with a user `web`.
class Pods : public testing::TestWithParam<const char*>, protected PodFixture {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    std::string why_not;
    if (!find_runtime(GetParam(), why_not)) GTEST_SKIP() << why_not;
    const auto busybox = os::find_file("/bin/busybox");
    if (!busybox) GTEST_SKIP() << "needs busybox-static";
    make_place("web", options_);
    ::chmod(path_.c_str(), 0755);
    std::vector<oci::Entry> files = {{"bin/", AE_IFDIR, "", 0755},
                                     {"bin/busybox", AE_IFREG, *busybox, 0755},
                                     {"etc/", AE_IFDIR, "", 0755},
                                     {"etc/passwd", AE_IFREG, kUsers},
                                     {"etc/group", AE_IFREG, "root:x:0:\nweb:x:34:\naudio:x:29:\n"},
                                     {"tmp/", AE_IFDIR, "", 01777}};
    for (const auto* tool : {"sh", "cat", "echo", "id", "sleep", "mkdir", "touch", "hostname", "mount", "dd", "kill",
                             "stat", "env", "ls", "date", "mknod", "grep", "head"})
      files.push_back({.path = std::string("bin/") + tool, .type = AE_IFLNK, .text = "busybox", .mode = 0777});
    const auto second = oci::tar_of({{"srv/", AE_IFDIR, "", 0755}, {"srv/note", AE_IFREG, "from above\n"}});
    oci::write_layout(
        path_ + "/image",
        oci::make_image({oci::tar_of(files), second},
                        R"({"Cmd":["/bin/sh","-c","echo by the image"],"Env":["FROM=image"],"StopSignal":"SIGUSR1"})"));
    options_.runtime = GetParam();
    options_.policy.privileged = true;
    driver_ = make_pod(options_);
  }
  void TearDown() override { remove_place(); }

  void config(boost::json::object keys) {
    keys["image"] = "oci:" + path_ + "/image:v1";
    spec_.config = std::move(keys);
  }
  void script(const std::string& text, boost::json::object keys = {}) {
    keys["command"] = "sh";
    keys["args"] = {"-c", text};
    config(std::move(keys));
  }

  Options options_;
};

}  // namespace underway::pod
